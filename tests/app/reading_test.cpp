// SPDX-License-Identifier: Apache-2.0
// The commands that read recordings, which need no engine, and what ringscope does without one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/run_program.h"
#include "traces/mistakes/catalogue.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::ringscope;

const std::string kSample =
    std::string(RINGSCOPE_SOURCE_DIR) + "/resources/sample/missing_position_ids.rscope";

TEST(ReadingTest, EveryReadingCommandHasHelp) {
  for (const char* command : {"diff", "doctor", "mistakes", "verify", "info", "merge", "gui"}) {
    const auto result = ringscope(std::string(command) + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_NE(result.out.find(std::string("Usage: ringscope ") + command), std::string::npos)
        << result.out;
  }
}

TEST(ReadingTest, HelpListsTheCommandsOfTheEngineToo) {
  const auto help = ringscope("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* line : {"train ", "attend ", "bench ", "diff ", "doctor ", "mistakes ",
                           "verify ", "info ", "merge ", "gui "})
    EXPECT_NE(help.out.find(std::string("\n  ") + line), std::string::npos) << line << help.out;
}

TEST(ReadingTest, TheVersionIsOneLine) {
  const auto version = ringscope("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("ringscope 0.")) << version.out;
  EXPECT_EQ(std::count(version.out.begin(), version.out.end(), '\n'), 1);
}

TEST(ReadingTest, InfoSaysWhatTheSampleHolds) {
  const auto info = ringscope("info --json " + kSample);
  ASSERT_EQ(info.code, 0) << info.err;
  const json report = json::parse(info.out);
  EXPECT_EQ(report["ranks"], 4);
  EXPECT_EQ(report["complete"], true);
  EXPECT_TRUE(report["problems"].empty()) << report["problems"];
  const auto text = ringscope("info " + kSample);
  EXPECT_NE(text.out.find("4 ranks"), std::string::npos) << text.out;
}

TEST(ReadingTest, DiffAndDoctorAnswerNoForTheSampleWithAMistake) {
  const auto diff = ringscope("diff --json " + kSample);
  EXPECT_EQ(diff.code, 1) << diff.err;
  EXPECT_GT(json::parse(diff.out)["diverging"].get<int>(), 0);
  const auto doctor = ringscope("doctor --json " + kSample);
  EXPECT_EQ(doctor.code, 1) << doctor.err;
  EXPECT_EQ(json::parse(doctor.out)["findings"].at(0)["rule"], "missing_position_ids");
}

TEST(ReadingTest, TheCatalogueIsPrinted) {
  const auto list = json::parse(ringscope("mistakes --json").out);
  ASSERT_EQ(list.size(), traces::mistakeCatalogue().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["id"], traces::mistakeCatalogue()[i].id);
    EXPECT_EQ(list[i]["injectable"], traces::mistakeCatalogue()[i].injectable);
  }
  const auto text = ringscope("mistakes").out;
  EXPECT_NE(text.find("naive_sum_merge  [--mistake]  [doctor]"), std::string::npos);
}

TEST(ReadingTest, BadInputIsOneClearSentenceAndExitCode2) {
  expectOneSentence(ringscope("info " + test::sampleText()), "not a RingScope trace");
  expectOneSentence(ringscope("doctor /no/such.rscope"), "no such file");
  expectOneSentence(ringscope("diff"), "TRACE is required");
  expectOneSentence(ringscope("nonsense"), "there is no command 'nonsense'");
}

/// A copy of ringscope in a folder of its own, as a viewer's installation has it.
class AloneTest : public testing::Test {
 protected:
  AloneTest() { std::filesystem::copy_file(RINGSCOPE_PROGRAM, program_); }
  test::Result alone(const std::string& arguments) { return test::runProgram(program_, arguments); }

  test::TempDir dir_;
  std::string program_ = dir_.file("ringscope");
};

TEST_F(AloneTest, ReadsRecordings) {
  EXPECT_EQ(alone("info " + kSample).code, 0);
  EXPECT_EQ(alone("doctor " + kSample).code, 1);
}

TEST_F(AloneTest, ACommandOfTheEngineSaysWhatIsMissing) {
  for (const char* command : {"train --text x", "attend --help", "bench attention"})
    expectOneSentence(alone(command), "needs the engine");
  expectOneSentence(alone("gui"), "the window is not installed");
}

TEST_F(AloneTest, BecomesTheEngineBesideItInTheSameProcess) {
  const std::string engine = dir_.file("ringscope-engine");
  std::ofstream(engine) << "#!/bin/sh\necho $$\nprintf '[%s]' \"$@\"\nexit 7\n";
  std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
  const auto result = test::runProgram("sh -c 'echo $$; exec \"$0\" \"$@\"' " + program_,
                                       "train --text 'a b' --json");
  EXPECT_EQ(result.code, 7) << result.err;
  std::istringstream out(result.out);
  std::string process, engine_process, arguments;
  out >> process >> engine_process >> std::ws;
  std::getline(out, arguments);
  EXPECT_EQ(engine_process, process);
  EXPECT_EQ(arguments, "[train][--text][a b][--json]");
}

}  // namespace
}  // namespace ringscope
