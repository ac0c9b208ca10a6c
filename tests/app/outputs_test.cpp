// SPDX-License-Identifier: Apache-2.0
// The outputs of the engine's commands never destroy existing files.
#include <gtest/gtest.h>

#include "tests/support/child_program.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"

namespace ringscope {
namespace {

namespace fs = std::filesystem;
using test::expectOneSentence;
using test::readContent;
using test::ringscope;

std::map<std::string, std::string> readContent(const test::TempDir& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(dir.file("")))
    files[entry.path().filename()] = readContent(entry.path());
  return files;
}

/// A folder with a text of its own under several names.
class OutputsTest : public ::testing::Test {
 protected:
  OutputsTest() {
    fs::copy_file(test::sampleText(), text_);
    fs::create_symlink(text_, dir_.file("link.txt"));
    fs::create_hard_link(text_, dir_.file("twin.txt"));
  }
  std::string train(const std::string& more) const {
    return "train --text " + text_ + " --steps 2 --seq-len 64 --cp 2 " + more;
  }

  test::TempDir dir_;
  const std::string text_ = dir_.file("text.txt");
};

TEST_F(OutputsTest, AnInputUnderAnyNameIsRefusedAsAnOutputBeforeAnythingRuns) {
  const auto before = readContent(dir_);
  for (const char* option : {"--log ", "--trace ", "--export-state "})
    for (const char* name : {"text.txt", "./text.txt", "link.txt", "twin.txt"})
      expectOneSentence(ringscope(train(option + dir_.file(name))), "is the same file as --text");
  expectOneSentence(ringscope(train("--log " + dir_.file("x") + " --trace " + dir_.file("./x"))),
                    "is the same file as --trace");
  const std::string tensors = dir_.file("in.safetensors");
  fs::copy_file(test::reference("attention/documents.safetensors"), tensors);
  const std::string input = readContent(tensors);
  expectOneSentence(ringscope("attend " + tensors + " -o " + tensors), "is the same file as INPUT");
  EXPECT_EQ(readContent(tensors), input);
  fs::remove(tensors);
  EXPECT_EQ(readContent(dir_), before);
}

TEST_F(OutputsTest, ARunThatNeverBeganReplacesNothing) {
  ASSERT_EQ(
      ringscope(train("--trace " + dir_.file("t.rscope") + " --log " + dir_.file("log"))).code, 0);
  const auto before = readContent(dir_);
  const auto failed = ringscope(
      train("--seq-len 1000000 --trace " + dir_.file("t.rscope") + " --log " + dir_.file("log")));
  EXPECT_EQ(failed.code, 2) << failed.err;
  EXPECT_EQ(readContent(dir_), before);
}

TEST_F(OutputsTest, ARunThatReplacesARecordingSaysSo) {
  const std::string trace = dir_.file("t.rscope");
  const auto first = ringscope(train("--trace " + trace));
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.err, "");
  const auto second = ringscope(train("--trace " + trace));
  EXPECT_EQ(second.code, 0);
  EXPECT_NE(second.err.find(trace + " held an earlier recording, which this run replaces"),
            std::string::npos)
      << second.err;
}

TEST_F(OutputsTest, NoReplaceKeepsAnEarlierRecording) {
  const std::string trace = dir_.file("t.rscope");
  const std::string options = "--no-replace --trace " + trace;
  ASSERT_EQ(ringscope(train(options)).code, 0) << "there was none";
  const auto before = readContent(dir_);
  expectOneSentence(ringscope(train(options)), "holds an earlier recording");
  expectOneSentence(ringscope("attend --random 1,2,64,16 --cp 2 " + options),
                    "holds an earlier recording");
  EXPECT_EQ(readContent(dir_), before);
}

TEST_F(OutputsTest, ATraceThatIsBeingRecordedIsNotTakenAwayByAnotherRun) {
  const std::string trace = dir_.file("t.rscope");
  test::Child first(test::longRun(trace));
  test::waitForEvents(trace);
  for (const char* launch : {"threads", "processes"})
    expectOneSentence(ringscope(train("--trace " + trace + " --launch " + launch)),
                      "is being recorded by another run");
  first.signal(SIGINT);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_TRUE(traces::openTrace(trace)->problems().empty());
  EXPECT_EQ(ringscope(train("--trace " + trace)).code, 0);
}

TEST_F(OutputsTest, ReportsALogOnAFullDiskAndContinues) {
  const auto result = ringscope(train("--log /dev/full --export-state " + dir_.file("state")));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("the log is cut at step 0"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(dir_.file("state")));
}

TEST_F(OutputsTest, AFileThatMayNotGrowCutsTheTraceAndNothingElse) {
  const std::string start = "train --text " + text_ + " --steps 12 --seq-len 512 --cp 2";
  const auto arguments = [&](const std::string& trace, const std::string& log) {
    return start + " --capture full --trace " + trace + " --log " + log + " --launch ";
  };
  for (const std::string launch : {"threads", "processes"}) {
    const std::string trace = dir_.file(launch), log = dir_.file(launch + ".log");
    const auto result = test::runProgram(std::string("ulimit -f 2048; ") + test::kProgram,
                                         arguments(trace, log).append(launch));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.err.find("the trace is cut"), std::string::npos) << result.err;
    const std::string lines = readContent(log);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 12);
    EXPECT_GT(traces::openTrace(trace)->tensors().size(), 10u);
  }
}

TEST_F(OutputsTest, AModelIsNotSavedOverTheOneThatIsTrained) {
  ASSERT_EQ(ringscope(train("--save-model " + dir_.file("model"))).code, 0);
  const std::string weights = readContent(dir_.file("model/model.safetensors"));
  expectOneSentence(
      ringscope(train("--model " + dir_.file("model") + " --save-model " + dir_.file("./model"))),
      "is the same file as --model");
  EXPECT_EQ(readContent(dir_.file("model/model.safetensors")), weights);
}

TEST_F(OutputsTest, AcceptsAPathThatIsNotUtf8) {
  const std::string text = dir_.file("\xff.txt"), trace = dir_.file("\xfe.rscope");
  fs::copy_file(text_, text);
  const std::string run = "train --steps 1 --seq-len 64 --cp 2 --json --trace " + trace;
  const auto result = ringscope(run + " --text " + text);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(traces::openTrace(trace)->problems().empty());
  fs::remove(trace);
  expectOneSentence(ringscope(run + " --text " + dir_.file("\xfd.txt")), "no such file");
}

TEST_F(OutputsTest, ATraceSaysHowItsRunEnded) {
  const std::string trace = dir_.file("t.rscope");
  ASSERT_EQ(ringscope(train("--trace " + trace)).code, 0);
  const auto whole = traces::openTrace(trace);
  EXPECT_TRUE(traces::findEnding(*whole).whole());
  EXPECT_TRUE(whole->problems().empty()) << whole->problems().front();
}

}  // namespace
}  // namespace ringscope
