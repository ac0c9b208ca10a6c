// SPDX-License-Identifier: GPL-3.0-or-later
// The window when the sample text is missing.
#include <filesystem>

#include "tests/support/run_program.h"
#include "tests/viz/window_fixture.h"
#include "traces/format/core/error.h"
#include "viz/window/run_panel.h"

namespace ringscope::viz {
namespace {

class SampleTextTest : public WindowTest {};

/// Runs in a process of the test below; its program lies where no resources are.
TEST_F(SampleTextTest, WithoutASampleTextItSaysSoAndTheWindowGoesOn) {
  if (!qEnvironmentVariableIsSet("RINGSCOPE_TEST_OUTSIDE"))
    GTEST_SKIP() << "runs in a process that OutsideItsTree starts";
  window.startRun(RunConfig());
  EXPECT_EQ(window.engine().state(), State::kIdle);
  EXPECT_FALSE(button("Run")->isEnabled());
  EXPECT_NE(status().indexOf("choose a text: the resource sample/text.txt was not found"), -1)
      << status().toStdString();
  auto* panel = window.findChild<RunPanel*>();
  RunConfig config = panel->config();
  config.text = {dir.file("own.txt")};
  panel->setConfig(config);
  EXPECT_TRUE(button("Run")->isEnabled()) << status().toStdString();
  open();
  EXPECT_FALSE(window.session().trace().moments().empty()) << "recordings can be looked at";
}

TEST(OutsideItsTreeTest, TheWindowSaysWhatIsMissingAndGoesOn) {
  test::TempDir folder;
  const std::string program = folder.file("tests");
  std::filesystem::copy_file("/proc/self/exe", program);
  const std::string filter = "SampleTextTest.WithoutASampleTextItSaysSoAndTheWindowGoesOn";
  const auto result =
      test::runProgram("RINGSCOPE_TEST_OUTSIDE=1 " + program, "--gtest_filter=" + filter);
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("[  PASSED  ] 1 test"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace ringscope::viz
