// SPDX-License-Identifier: Apache-2.0
// The rules about tokens, labels, batches and positions. Each is tested in a recording in which it
// finds a mistake, in one in which it is clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;

/// Returns eight tokens, 10 to 17, dealt head and tail to two ranks.
std::string headTail(const std::string& labels_0, const std::string& labels_1,
                     const std::string& meant = "intent mask=causal positions=whole_sequence\n") {
  return "run cp=2 seq_len=8\ngroup cp 0,1\n" + meant +
         "shard input_ids rank=0 tokens=0-2,6-8\nshard input_ids rank=1 tokens=2-6\n"
         "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,16,17\n"
         "tensor buffer.input_ids rank=1 shape=1x4 values=12,13,14,15\n"
         "tensor buffer.labels rank=0 shape=1x4 values=" +
         labels_0 + "\ntensor buffer.labels rank=1 shape=1x4 values=" + labels_1 + "\n";
}
/// Returns the same tokens in equal parts.
std::string inParts(const std::string& labels_0, const std::string& labels_1,
                    const std::string& meant = "intent mask=causal positions=whole_sequence\n") {
  return "run cp=2 seq_len=8\ngroup cp 0,1\n" + meant +
         "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
         "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,12,13\n"
         "tensor buffer.input_ids rank=1 shape=1x4 values=14,15,16,17\n"
         "tensor buffer.labels rank=0 shape=1x4 values=" +
         labels_0 + "\ntensor buffer.labels rank=1 shape=1x4 values=" + labels_1 + "\n";
}

/// Returns the records of a step for another step.
std::string atStep(const std::string& recording, int step) {
  std::stringstream lines(recording);
  std::string again;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("run ") && !line.starts_with("group "))
      again += line + " step=" + std::to_string(step) + "\n";
  return again;
}

/// Returns the same recording in three training steps.
std::string inThreeSteps(const std::string& recording) {
  return recording + atStep(recording, 1) + atStep(recording, 2);
}

TEST(ShiftLabelsPerShardRuleTest, TheLastTokenOfAShardLosesItsTarget) {
  const std::string lost = inParts("11,12,13,-100", "15,16,17,-100");
  const auto wrong = answerFrom("shift_labels_per_shard", inThreeSteps(lost));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(0));
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", inParts("11,12,13,14", "15,16,17,18")),
            Verdict::kClear);
  const std::string rolled = inParts("11,12,13,10", "15,16,17,14");
  EXPECT_EQ(findVerdict("shift_labels_per_shard", rolled), Verdict::kFound);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", "run cp=2\n"), Verdict::kNotObservable);
  const auto perhaps = answerFrom("shift_labels_per_shard", lost);
  EXPECT_EQ(perhaps.verdict, Verdict::kNotObservable);
  EXPECT_NE(perhaps.would_settle.find("of 7 labels the 1 at the ends"), std::string::npos)
      << perhaps.would_settle;
  const std::string right_later =
      lost + atStep(inParts("11,12,13,14", "15,16,17,18"), 1) + atStep(lost, 2) + atStep(lost, 3);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", right_later), Verdict::kNotObservable)
      << "a target at the end of a shard in one step";
  const std::string masked = atStep(inParts("11,12,-100,-100", "15,16,17,-100"), 3);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", inThreeSteps(lost) + masked), Verdict::kFound)
      << "no end of a shard has a target in one step";
}

TEST(ShiftLabelsPerShardRuleTest, AtTheBorderOfAChunkTheTargetIsATokenOfALaterChunk) {
  const auto wrong =
      answerFrom("shift_labels_per_shard", headTail("11,16,17,-100", "13,14,15,-100"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kCertain);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", headTail("11,12,17,18", "13,14,15,16")),
            Verdict::kClear);
}

TEST(ShiftLabelsPerShardRuleTest, ADocumentThatEndsAtTheBorderNeedsNoTargetThere) {
  const std::string labels_0 = "11,12,13,-100", labels_1 = "15,16,17,-100";
  EXPECT_EQ(findVerdict("shift_labels_per_shard",
                        inParts(labels_0, labels_1, "intent mask=documents documents=0-4,4-8\n")),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("shift_labels_per_shard",
                        inThreeSteps(inParts(labels_0, labels_1,
                                             "intent mask=documents documents=0-6,6-8\n"))),
            Verdict::kFound);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", inParts(labels_0, labels_1, "")),
            Verdict::kNotObservable)
      << "nobody said whether one ends there";
}

TEST(ShiftLabelsPerShardRuleTest, TargetsThatAPromptLacksProveNothing) {
  for (const char* labels : {"-100,-100,-100,-100", "11,12,-100,-100", "-100,12,13,14"})
    EXPECT_EQ(findVerdict("shift_labels_per_shard", inParts(labels, "15,16,17,-100")),
              Verdict::kClear)
        << labels;
  EXPECT_EQ(findVerdict("shift_labels_per_shard", inParts("11,12,13,-100", "-100,16,17,18")),
            Verdict::kClear);
}

TEST(MissingPositionIdsRuleTest, PackedDocumentsOfAForeignJobAreNoMistake) {
  const std::string foreign =
      "note framework \"pytorch\"\nrun cp=2 seq_len=8\n"
      "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
      "tensor position_ids rank=0 shape=1x4 values=0,1,2,3\n"
      "tensor position_ids rank=1 shape=1x4 values=";
  const auto wrong = answerFrom("missing_position_ids", foreign + "0,1,2,3\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound) << "they count the rank's own tokens";
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(findVerdict("missing_position_ids", foreign + "4,0,1,2\n"), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("missing_position_ids", foreign + "4,5,6,7\n"), Verdict::kClear);
  const std::string third =
      "shard input_ids rank=2 tokens=8-12\ntensor position_ids rank=2 shape=1x4 values=0,1,2,3\n";
  EXPECT_EQ(findVerdict("missing_position_ids", foreign + "4,5,6,7\n" + third),
            Verdict::kNotObservable)
      << "a document begins with the last shard";
}

TEST(ShiftLabelsPerShardRuleTest, TargetsAtTheEndsMayBeLeftOutWhenOthersAreToo) {
  const std::string masked = inParts("11,-100,13,-100", "15,16,17,-100");
  const auto answer = answerFrom("shift_labels_per_shard", masked);
  EXPECT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("of 2 other tokens between two targets 1 has none"),
            std::string::npos)
      << answer.would_settle;
  EXPECT_EQ(findVerdict("labels_shifted_twice", masked), Verdict::kClear);
}

TEST(ShiftLabelsPerShardRuleTest, APromptDoesNotExplainLostTargetsBetweenTargets) {
  const auto steps = [](const std::string& step) {
    std::string all = step;
    for (int at = 1; at < 8; ++at) all += atStep(step, at);
    return all;
  };
  const std::string prompt = inParts("-100,12,13,-100", "15,16,17,-100");
  EXPECT_EQ(findVerdict("shift_labels_per_shard", prompt), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", steps(prompt)), Verdict::kFound);
  const std::string random = inParts("11,-100,13,-100", "15,16,17,-100");
  EXPECT_EQ(findVerdict("shift_labels_per_shard", steps(random)), Verdict::kNotObservable)
      << "half of the tokens between two targets have none";
}

TEST(ShiftLabelsPerShardRuleTest, CountsTheBatchOfATpGroupOnce) {
  const std::string masked = inParts("11,-100,13,-100", "15,16,17,-100");
  std::string text = "run tp=6 cp=2 seq_len=8\n";
  for (int tp = 0; tp < 6; ++tp) {
    std::string part = masked.substr(masked.find('\n') + 1);
    const std::string first = std::to_string(2 * tp), second = std::to_string(2 * tp + 1);
    const auto replace_all = [&part](const std::string& from, const std::string& to) {
      for (auto at = part.find(from); at != std::string::npos; at = part.find(from, at + to.size()))
        part.replace(at, from.size(), to);
    };
    replace_all("cp 0,1", "cp " + first + "," + second);
    replace_all("rank=1 ", "rank=" + second + "  ");
    replace_all("rank=0 ", "rank=" + first + " ");
    text += part;
  }
  EXPECT_EQ(findVerdict("shift_labels_per_shard", text), Verdict::kNotObservable);
}

TEST(ShiftLabelsPerShardRuleTest, DoesNotCompareRanksThatShareNoSequence) {
  const std::string two_of_dp =
      "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=0-4\n"
      "tensor buffer.input_ids rank=0 shape=1x4 values=1,2,3,4\n"
      "tensor buffer.input_ids rank=1 shape=1x4 values=5,6,7,8\n"
      "tensor buffer.labels rank=0 shape=1x4 values=2,3,4,5\n"
      "tensor buffer.labels rank=1 shape=1x4 values=6,7,8,9\nsend rank=1 peer=0\n";
  for (const char* rule :
       {"shift_labels_per_shard", "labels_shifted_twice", "different_batches_on_cp_ranks"})
    EXPECT_EQ(findVerdict(rule, two_of_dp), Verdict::kNotObservable) << rule;
}

TEST(LabelsShiftedTwiceRuleTest, LabelsAreTheTokensAfterTheNext) {
  for (const std::string& wrong :
       {inParts("12,13,14,-100", "16,17,18,-100"), inParts("12,13,14,15", "16,17,18,-100"),
        headTail("12,17,18,-100", "14,15,16,-100")}) {
    EXPECT_EQ(findVerdict("labels_shifted_twice", wrong), Verdict::kFound) << wrong;
    EXPECT_EQ(findVerdict("shift_labels_per_shard", wrong), Verdict::kNotObservable)
        << "that every label is the next token is not so: " << wrong;
  }
  EXPECT_EQ(findVerdict("labels_shifted_twice", inParts("11,12,13,14", "15,16,17,18")),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("labels_shifted_twice", headTail("11,16,17,-100", "13,14,15,-100")),
            Verdict::kClear);
  const std::string two = inParts("12,-100,-100,-100", "16,-100,-100,-100");
  EXPECT_EQ(findVerdict("labels_shifted_twice", two), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("labels_shifted_twice", inThreeSteps(two)), Verdict::kFound);
  const auto not_shifted =
      answerFrom("labels_shifted_twice", inParts("10,11,12,13", "14,15,16,17"));
  ASSERT_EQ(not_shifted.verdict, Verdict::kNotObservable) << "the model shifts them";
  EXPECT_NE(not_shifted.would_settle.find("neither"), std::string::npos);
}

TEST(LabelsShiftedTwiceRuleTest, StripedShardsAreShiftedTwiceByAStripe) {
  const auto striped = [](const std::string& labels_0, const std::string& labels_1) {
    return "run cp=2 seq_len=8\ngroup cp 0,1\nintent mask=causal positions=whole_sequence\n"
           "shard input_ids rank=0 tokens=0-1,2-3,4-5,6-7\n"
           "shard input_ids rank=1 tokens=1-2,3-4,5-6,7-8\n"
           "tensor buffer.input_ids rank=0 shape=1x4 values=10,12,14,16\n"
           "tensor buffer.input_ids rank=1 shape=1x4 values=11,13,15,17\n"
           "tensor buffer.labels rank=0 shape=1x4 values=" +
           labels_0 + "\ntensor buffer.labels rank=1 shape=1x4 values=" + labels_1 + "\n";
  };
  EXPECT_EQ(findVerdict("labels_shifted_twice", striped("13,15,17,-100", "14,16,18,-100")),
            Verdict::kFound);
  EXPECT_EQ(findVerdict("shift_labels_per_shard", striped("12,14,16,-100", "13,15,17,-100")),
            Verdict::kFound);
  EXPECT_EQ(findVerdict("labels_shifted_twice", striped("11,13,15,17", "12,14,16,18")),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("different_batches_on_cp_ranks", striped("11,98,15,99", "12,14,16,18")),
            Verdict::kNotObservable)
      << "no rank has two tokens in a row, so labels may be wrong for any reason";
}

TEST(LabelsShiftedTwiceRuleTest, WithinAShardTheyAreAlsoShiftedAfterSharding) {
  const std::string both = headTail("16,17,-100,-100", "14,15,-100,-100");
  for (const char* rule : {"labels_shifted_twice", "shift_labels_per_shard"}) {
    const auto answer = answerFrom(rule, both);
    ASSERT_EQ(answer.verdict, Verdict::kFound) << rule;
    EXPECT_NE(answer.findings.at(0).evidence.find("4 of 4"), std::string::npos) << rule;
  }
  const std::string beyond = headTail("16,17,12,-100", "14,15,-100,-100");
  EXPECT_EQ(findVerdict("labels_shifted_twice", beyond), Verdict::kNotObservable)
      << "a shard has no token after the next of its last but one";
}

TEST(LabelsShiftedTwiceRuleTest, AHandfulOfLabelsMayBeWrongByChance) {
  EXPECT_EQ(
      findVerdict("labels_shifted_twice", inParts("12,-100,-100,-100", "-100,-100,-100,-100")),
      Verdict::kNotObservable);
}

TEST(DifferentBatchesRuleTest, AllRanksOfACpGroupCutOneBatch) {
  const std::string batches =
      "run dp=2 cp=2\ngroup cp 0,1\ngroup cp 2,3\n"
      "tensor batch.input_ids rank=0 hash=5\ntensor batch.input_ids rank=1 hash=5\n"
      "tensor batch.input_ids rank=2 hash=6\n";
  const auto wrong = answerFrom("different_batches_on_cp_ranks",
                                batches + "tensor batch.input_ids rank=3 hash=7\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(3));
  EXPECT_EQ(findVerdict("different_batches_on_cp_ranks",
                        batches + "tensor batch.input_ids rank=3 hash=6\n"),
            Verdict::kClear)
      << "dp ranks have others";
  EXPECT_EQ(findVerdict("different_batches_on_cp_ranks", "run cp=2\n"), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("different_batches_on_cp_ranks", "run cp=1\n"), Verdict::kClear);
}

TEST(DifferentBatchesRuleTest, WithoutTheBatchItselfLabelsAtTheBordersTell) {
  const auto wrong =
      answerFrom("different_batches_on_cp_ranks", inParts("11,12,13,99", "15,16,17,18"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(findVerdict("different_batches_on_cp_ranks", inParts("11,12,13,14", "15,16,17,18")),
            Verdict::kNotObservable)
      << "it may be chance";
}

TEST(PositionsNotResetRuleTest, PositionsCountFromTheStartOfEachDocument) {
  const std::string packed =
      "run cp=2 seq_len=8 mask=documents\n"
      "intent mask=documents documents=0-6,6-8 positions=each_document\n"
      "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
      "shard position_ids rank=0 tokens=0-4\nshard position_ids rank=1 tokens=4-8\n"
      "tensor position_ids rank=0 shape=1x4 values=0,1,2,3\n";
  const std::string wrong = packed + "tensor position_ids rank=1 shape=1x4 values=4,5,6,7\n";
  EXPECT_EQ(findVerdict("positions_not_reset_per_document", wrong), Verdict::kFound);
  EXPECT_EQ(findVerdict("positions_not_reset_per_document",
                        packed + "tensor position_ids rank=1 shape=1x4 values=4,5,0,1\n"),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("positions_not_reset_per_document",
                        packed + "tensor position_ids rank=1 shape=1x4 values=0,1,2,3\n"),
            Verdict::kNotObservable)
      << "they restart on the rank";
  const auto later = answerFrom(
      "positions_not_reset_per_document",
      packed +
          "tensor position_ids rank=1 shape=1x4 values=4,5,0,1\n"
          "intent step=1 mask=documents documents=0-6,6-8 positions=each_document\n"
          "shard input_ids step=1 rank=1 tokens=4-8\nshard position_ids step=1 rank=1 tokens=4-8\n"
          "tensor position_ids step=1 rank=1 shape=1x4 values=4,5,6,7\n");
  ASSERT_EQ(later.verdict, Verdict::kFound) << "it began while the run went on";
  EXPECT_NE(later.findings.front().evidence.find(
                "All 4 position ids of 1 training step (those of 1 are right) are indices"),
            std::string::npos)
      << later.findings.front().evidence;
  EXPECT_EQ(findVerdict("positions_not_reset_per_document", "run cp=2 mask=documents\n"),
            Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
