// SPDX-License-Identifier: Apache-2.0
// Recorded labels compared with the next tokens of the sequence, and with the results of shifting
// them elsewhere.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/step_check.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

/// Returns the check of tokens 0 to 7 with ids 10 to 17; rank 1 has the second half.
StepCheck twoShards(const std::string& first, const std::string& second,
                    const std::string& run = "run cp=2\n") {
  return checkStep(
      *makeTrace(run +
                 "intent mask=causal loss=mean_over_targets\ngroup cp 0,1\n"
                 "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
                 "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,12,13\n"
                 "tensor buffer.input_ids rank=1 shape=1x4 values=14,15,16,17\n"
                 "tensor buffer.labels rank=0 shape=1x4 values=" +
                 first + "\ntensor buffer.labels rank=1 shape=1x4 values=" + second + "\n"),
      0);
}

TEST(VerifyLabelsTest, NextTokensAreRightAcrossTheBorderOfShards) {
  const StepCheck check = twoShards("11,12,13,14", "15,16,17,18");
  EXPECT_TRUE(check.right());
  EXPECT_EQ(check.compared(), 1);
  EXPECT_NE(toText(check).find("✓ labels: all of 7 that could be compared are the next token"),
            std::string::npos)
      << toText(check);
}

TEST(VerifyLabelsTest, LabelsThatTheLastTokenOfAShardLostAreThoseOfTheShard) {
  EXPECT_TRUE(twoShards("11,12,13,-100", "15,16,17,18").right())
      << "the last token of rank 1 has a target, which its shard does not hold";
  const StepCheck both = twoShards("11,12,13,-100", "15,16,17,-100");
  EXPECT_FALSE(both.right());
  EXPECT_NE(toText(both).find("✗ labels: 0 of 6 are not the next token of the sequence, and the "
                              "last token of a shard has none in 1 place\n"
                              "    = all of them are what `shift_labels_per_shard` gives\n"),
            std::string::npos)
      << toText(both);
}

TEST(VerifyLabelsTest, LabelsThatAJobLostAtTheEndsMayBeThoseOfDocuments) {
  const StepCheck check = twoShards("11,12,13,-100", "15,16,17,-100",
                                    "run command=import dp=1 cp=2\nnote framework \"pytorch\"\n");
  EXPECT_TRUE(check.right());
  EXPECT_NE(toText(check).find("whether documents end there is not declared"), std::string::npos)
      << toText(check);
}

/// Returns the check of three sequences of two shards that each begin with id 1 and end with id 2.
StepCheck markedShards(const std::string& last_label) {
  const auto rows = [](const std::string& row) { return row + "," + row + "," + row; };
  const std::string inputs = rows("1,11,12,13"), labels = rows("11,12,13," + last_label);
  return checkStep(*makeTrace("run cp=2\nintent mask=causal loss=mean_over_targets\n"
                              "group cp 0,1\nshard input_ids rank=0 tokens=0-4\n"
                              "shard input_ids rank=1 tokens=4-8\n"
                              "tensor buffer.input_ids rank=0 shape=3x4 values=" +
                              inputs + "\ntensor buffer.input_ids rank=1 shape=3x4 values=" +
                              inputs + "\ntensor buffer.labels rank=0 shape=3x4 values=" + labels +
                              "\ntensor buffer.labels rank=1 shape=3x4 values=" + labels + "\n"),
                   0);
}

TEST(VerifyLabelsTest, DocumentsAsLongAsShardsBeginOrEndWithAMarker) {
  EXPECT_TRUE(markedShards("-100").labels.areNextTokens()) << "nothing predicts the first token";
  EXPECT_TRUE(markedShards("2").labels.areNextTokens()) << "no input is the last label";
  EXPECT_FALSE(markedShards("12").labels.areNextTokens());
}

TEST(VerifyLabelsTest, LabelsMissingAtTheEndsAreNotWrongIfOthersMissToo) {
  const StepCheck check = twoShards("-100,12,13,-100", "15,16,17,-100");
  EXPECT_TRUE(check.right());
  EXPECT_NE(toText(check).find("– labels: 0 of 5 are not the next token"), std::string::npos)
      << toText(check);
}

TEST(VerifyLabelsTest, LabelsOfTheTokenAfterTheNextWereShiftedTwice) {
  const StepCheck check = twoShards("12,13,14,15", "16,17,18,-100");
  EXPECT_FALSE(check.right());
  const auto json = toJson(check).at("labels");
  EXPECT_EQ(json.at("wrong"), 7);
  const auto first = json.at("hypotheses").at("mistakes")[0];
  EXPECT_EQ(first.at("mistake"), "labels_shifted_twice");
  EXPECT_EQ(first.at("how"), "before they are cut");
  EXPECT_EQ(first.at("reproduces"), true);
  EXPECT_NE(toText(check).find("≠ excluded: `shift_labels_per_shard` contradicts 7"),
            std::string::npos)
      << toText(check);
}

TEST(VerifyLabelsTest, LabelsOfTheTokenAfterTheNextOfAShardWereShiftedTwiceWithinIt) {
  const std::string text = toText(checkStep(
      *makeTrace("run cp=2\nintent mask=causal loss=mean_over_targets\ngroup cp 0,1\n"
                 "shard input_ids rank=0 tokens=0-2,6-8\nshard input_ids rank=1 tokens=2-6\n"
                 "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,16,17\n"
                 "tensor buffer.input_ids rank=1 shape=1x4 values=12,13,14,15\n"
                 "tensor buffer.labels rank=0 shape=1x4 values=16,17,-100,-100\n"
                 "tensor buffer.labels rank=1 shape=1x4 values=14,15,-100,-100\n"),
      0));
  EXPECT_NE(text.find("= all of them are what `labels_shifted_twice` (both times within the shard) "
                      "gives\n"),
            std::string::npos)
      << text;
}

TEST(VerifyLabelsTest, OtherLabelsAreNotCalledWrong) {
  const StepCheck check = twoShards("11,12,13,99", "15,16,17,18");
  EXPECT_TRUE(check.right()) << "somebody may have meant it";
  EXPECT_NE(
      toText(check).find("– labels: 1 of 7 are not the next token of the sequence; which ones "
                         "were meant is not recorded, and no mistake that was tried gives "
                         "them\n    ≠ excluded: "),
      std::string::npos)
      << toText(check);
  EXPECT_EQ(toText(twoShards("11,12,13,99", "15,16,17,18", "")).find("tried"), std::string::npos)
      << "of a run that is not known none was";
}

TEST(VerifyLabelsTest, WithoutTokensItSaysWhatRecordsThem) {
  EXPECT_EQ(checkStep(*makeTrace("run cp=2\ngroup cp 0,1\n"), 0).labels.skipped,
            "too few whose next token is recorded; --capture full records input_ids and labels");
}

}  // namespace
}  // namespace ringscope::traces
