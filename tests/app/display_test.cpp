// SPDX-License-Identifier: Apache-2.0
// The window without a display: what is wrong, what to do, and exit code 2, but pictures can still
// be made.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/run_program.h"

namespace ringscope {
namespace {

const std::string kBare = "env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM ";
constexpr const char* kEnd = "the `ringscope` commands work.\n";

/// Expects that both ways to start the window end with this sentence.
void expectRefused(const std::string& environment, const std::string& words) {
  for (const std::string& program :
       {std::string(test::kWindow), test::kProgram + std::string(" gui")}) {
    SCOPED_TRACE(program);
    const auto result = test::runProgram(kBare + environment + " " + program, "");
    test::expectOneSentence(result, words);
    EXPECT_TRUE(result.err.starts_with("ringscope-gui: ")) << result.err;
    EXPECT_TRUE(result.err.ends_with(kEnd)) << "says what to do: " << result.err;
  }
}

class DisplayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (*test::kWindow == '\0') GTEST_SKIP() << "this build has no window";
  }
};

TEST_F(DisplayTest, WithoutADisplayTheWindowSaysWhatToSet) {
  expectRefused("", "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set. Start");
}

TEST_F(DisplayTest, ADisplayWhoseServerIsGoneIsNamed) {
  expectRefused("DISPLAY=:977", "the display (DISPLAY=:977) cannot be opened");
  expectRefused("QT_QPA_PLATFORM=xcb DISPLAY=:977", "the display (DISPLAY=:977) cannot be opened");
}

TEST_F(DisplayTest, APlatformPluginThatIsMissingIsNamed) {
  expectRefused("QT_QPA_PLATFORM=nosuch",
                "Qt cannot load its platform plugin (QT_QPA_PLATFORM=nosuch)");
}

TEST_F(DisplayTest, AScreenshotNeedsNone) {
  test::TempDir dir;
  const std::string picture = dir.file("ring.png");
  const auto result = test::runProgram(
      kBare + test::kWindow, test::sampleRecording() + " --size 800x600 --screenshot " + picture);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(picture));
}

}  // namespace
}  // namespace ringscope
