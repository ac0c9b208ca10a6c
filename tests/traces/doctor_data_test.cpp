// SPDX-License-Identifier: Apache-2.0
// The rules about tokens, labels, positions and balances, each in a recording in which it finds,
// one in which it is clear, and one in which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerOf;
using test::verdictOf;

/// Eight tokens, 10 to 17, dealt head and tail to two ranks.
std::string headTail(const std::string& labels_0, const std::string& labels_1,
                     const std::string& meant = "intent mask=causal positions=whole_sequence\n") {
  return "run cp=2 seq_len=8\ngroup cp 0,1\n" + meant +
         "shard input_ids rank=0 tokens=0-2,6-8\nshard input_ids rank=1 tokens=2-6\n"
         "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,16,17\n"
         "tensor buffer.input_ids rank=1 shape=1x4 values=12,13,14,15\n"
         "tensor buffer.labels rank=0 shape=1x4 values=" +
         labels_0 + "\ntensor buffer.labels rank=1 shape=1x4 values=" + labels_1 + "\n";
}
/// The same in equal parts.
std::string inParts(const std::string& labels_0, const std::string& labels_1,
                    const std::string& meant = "intent mask=causal positions=whole_sequence\n") {
  return "run cp=2 seq_len=8\ngroup cp 0,1\n" + meant +
         "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
         "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,12,13\n"
         "tensor buffer.input_ids rank=1 shape=1x4 values=14,15,16,17\n"
         "tensor buffer.labels rank=0 shape=1x4 values=" +
         labels_0 + "\ntensor buffer.labels rank=1 shape=1x4 values=" + labels_1 + "\n";
}

TEST(ShiftLabelsPerShardRuleTest, TheLastTokenOfAShardLosesItsTarget) {
  const auto wrong = answerOf("shift_labels_per_shard", inParts("11,12,13,-100", "15,16,17,-100"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(0));
  EXPECT_EQ(wrong.findings.front().confidence, "likely");
  EXPECT_EQ(verdictOf("shift_labels_per_shard", inParts("11,12,13,14", "15,16,17,18")),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("shift_labels_per_shard", "run cp=2\n"), Verdict::kNotObservable);
}

TEST(ShiftLabelsPerShardRuleTest, AtTheBorderOfAChunkTheTargetIsATokenOfALaterChunk) {
  const auto wrong = answerOf("shift_labels_per_shard", headTail("11,16,17,-100", "13,14,15,-100"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, "certain");
  EXPECT_EQ(verdictOf("shift_labels_per_shard", headTail("11,12,17,18", "13,14,15,16")),
            Verdict::kClear);
}

TEST(ShiftLabelsPerShardRuleTest, ADocumentThatEndsAtTheBorderHasNoTargetThereByRight) {
  const std::string labels_0 = "11,12,13,-100", labels_1 = "15,16,17,-100";
  EXPECT_EQ(verdictOf("shift_labels_per_shard",
                      inParts(labels_0, labels_1, "intent mask=documents documents=0-4,4-8\n")),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("shift_labels_per_shard",
                      inParts(labels_0, labels_1, "intent mask=documents documents=0-6,6-8\n")),
            Verdict::kFound);
  EXPECT_EQ(verdictOf("shift_labels_per_shard", inParts(labels_0, labels_1, "")),
            Verdict::kNotObservable)
      << "nobody said whether one ends there";
}

TEST(ShiftLabelsPerShardRuleTest, TargetsThatAPromptLacksProveNothing) {
  for (const char* labels : {"-100,-100,-100,-100", "11,12,-100,-100", "-100,12,13,14"})
    EXPECT_EQ(verdictOf("shift_labels_per_shard", inParts(labels, "15,16,17,-100")),
              Verdict::kClear)
        << labels;
  EXPECT_EQ(verdictOf("shift_labels_per_shard", inParts("11,12,13,-100", "-100,16,17,18")),
            Verdict::kClear);
}

TEST(ShiftLabelsPerShardRuleTest, RanksThatShareNoSequenceAreNotComparedAsIfTheyDid) {
  const std::string two_of_dp =
      "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=0-4\n"
      "tensor buffer.input_ids rank=0 shape=1x4 values=1,2,3,4\n"
      "tensor buffer.input_ids rank=1 shape=1x4 values=5,6,7,8\n"
      "tensor buffer.labels rank=0 shape=1x4 values=2,3,4,5\n"
      "tensor buffer.labels rank=1 shape=1x4 values=6,7,8,9\nsend rank=1 peer=0\n";
  for (const char* rule :
       {"shift_labels_per_shard", "labels_shifted_twice", "different_batches_on_cp_ranks"})
    EXPECT_EQ(verdictOf(rule, two_of_dp), Verdict::kNotObservable) << rule;
}

TEST(LabelsShiftedTwiceRuleTest, LabelsAreTheTokensAfterTheNext) {
  for (const std::string& wrong :
       {inParts("12,13,14,-100", "16,17,18,-100"), inParts("12,13,14,15", "16,17,18,-100"),
        headTail("12,17,18,-100", "14,15,16,-100")}) {
    EXPECT_EQ(verdictOf("labels_shifted_twice", wrong), Verdict::kFound) << wrong;
    EXPECT_EQ(verdictOf("shift_labels_per_shard", wrong), Verdict::kNotObservable)
        << "that every label is the next token is not so: " << wrong;
  }
  EXPECT_EQ(verdictOf("labels_shifted_twice", inParts("11,12,13,14", "15,16,17,18")),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("labels_shifted_twice", headTail("11,16,17,-100", "13,14,15,-100")),
            Verdict::kClear);
  const auto not_shifted = answerOf("labels_shifted_twice", inParts("10,11,12,13", "14,15,16,17"));
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
  EXPECT_EQ(verdictOf("labels_shifted_twice", striped("13,15,17,-100", "14,16,18,-100")),
            Verdict::kFound);
  EXPECT_EQ(verdictOf("shift_labels_per_shard", striped("12,14,16,-100", "13,15,17,-100")),
            Verdict::kFound);
  EXPECT_EQ(verdictOf("labels_shifted_twice", striped("11,13,15,17", "12,14,16,18")),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("different_batches_on_cp_ranks", striped("11,98,15,99", "12,14,16,18")),
            Verdict::kNotObservable)
      << "no rank has two tokens in a row, so labels may be wrong for any reason";
}

TEST(LabelsShiftedTwiceRuleTest, AHandfulOfLabelsMayBeWrongByChance) {
  EXPECT_EQ(verdictOf("labels_shifted_twice", inParts("12,-100,-100,-100", "-100,-100,-100,-100")),
            Verdict::kNotObservable);
}

TEST(DifferentBatchesRuleTest, AllRanksOfACpGroupCutOneBatch) {
  const std::string batches =
      "run dp=2 cp=2\ngroup cp 0,1\ngroup cp 2,3\n"
      "tensor batch.input_ids rank=0 hash=5\ntensor batch.input_ids rank=1 hash=5\n"
      "tensor batch.input_ids rank=2 hash=6\n";
  const auto wrong =
      answerOf("different_batches_on_cp_ranks", batches + "tensor batch.input_ids rank=3 hash=7\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(3));
  EXPECT_EQ(verdictOf("different_batches_on_cp_ranks",
                      batches + "tensor batch.input_ids rank=3 hash=6\n"),
            Verdict::kClear)
      << "dp ranks have others";
  EXPECT_EQ(verdictOf("different_batches_on_cp_ranks", "run cp=2\n"), Verdict::kNotObservable);
  EXPECT_EQ(verdictOf("different_batches_on_cp_ranks", "run cp=1\n"), Verdict::kClear);
}

TEST(DifferentBatchesRuleTest, WithoutTheBatchItselfLabelsAtTheBordersTell) {
  const auto wrong =
      answerOf("different_batches_on_cp_ranks", inParts("11,12,13,99", "15,16,17,18"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, "likely");
  EXPECT_EQ(verdictOf("different_batches_on_cp_ranks", inParts("11,12,13,14", "15,16,17,18")),
            Verdict::kNotObservable)
      << "it may be chance";
}

TEST(SameBatchRuleTest, DpRanksReadOtherBatchesThanEachOther) {
  const std::string groups = "run dp=2 cp=1\ngroup dp 0,1\n";
  const auto step = [](int number, int of_0, int of_1) {
    const std::string tensor = "tensor buffer.input_ids step=" + std::to_string(number) + " rank=";
    return tensor + "0 hash=" + std::to_string(of_0) + "\n" + tensor +
           "1 hash=" + std::to_string(of_1) + "\n";
  };
  EXPECT_EQ(verdictOf("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 2, 2)),
            Verdict::kFound);
  const auto often =
      answerOf("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 2, 2) + step(2, 1, 1));
  ASSERT_EQ(often.verdict, Verdict::kFound);
  EXPECT_NE(often.findings.front().evidence.find("In each of 3 training steps"), std::string::npos)
      << often.findings.front().evidence;
  EXPECT_NE(often.findings.front().evidence.find("2 different batches"), std::string::npos);
  EXPECT_EQ(verdictOf("same_batch_on_dp_ranks", groups + step(0, 1, 2)), Verdict::kClear);
  EXPECT_EQ(verdictOf("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 2, 3)),
            Verdict::kClear)
      << "once is chance";
  EXPECT_EQ(verdictOf("same_batch_on_dp_ranks", groups + step(0, 1, 1)), Verdict::kNotObservable);
  EXPECT_EQ(verdictOf("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 1, 1)),
            Verdict::kNotObservable)
      << "there may be one batch to learn";
  EXPECT_EQ(verdictOf("same_batch_on_dp_ranks", groups), Verdict::kNotObservable);
}

TEST(PositionsNotResetRuleTest, PositionsCountFromTheStartOfEachDocument) {
  const std::string packed =
      "run cp=2 seq_len=8 mask=documents\n"
      "intent mask=documents documents=0-6,6-8 positions=each_document\n"
      "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
      "shard position_ids rank=0 tokens=0-4\nshard position_ids rank=1 tokens=4-8\n"
      "tensor position_ids rank=0 shape=1x4 values=0,1,2,3\n";
  const std::string wrong = packed + "tensor position_ids rank=1 shape=1x4 values=4,5,6,7\n";
  EXPECT_EQ(verdictOf("positions_not_reset_per_document", wrong), Verdict::kFound);
  EXPECT_EQ(verdictOf("positions_not_reset_per_document",
                      packed + "tensor position_ids rank=1 shape=1x4 values=4,5,0,1\n"),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("positions_not_reset_per_document",
                      packed + "tensor position_ids rank=1 shape=1x4 values=0,1,2,3\n"),
            Verdict::kNotObservable)
      << "they restart on the rank";
  EXPECT_EQ(verdictOf("positions_not_reset_per_document", "run cp=2 mask=documents\n"),
            Verdict::kNotObservable);
}

TEST(BalanceDiffersRuleTest, ARankHasTheSameTokensOfEveryBuffer) {
  const std::string tokens = "run cp=2\nshard input_ids rank=0 tokens=0-2,6-8\n";
  const auto wrong = answerOf("balance_differs_between_buffers",
                              tokens + "shard position_ids rank=0 tokens=0-4\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().buffer, "position_ids");
  EXPECT_NE(wrong.findings.front().evidence.find("Row 2"), std::string::npos);
  EXPECT_EQ(verdictOf("balance_differs_between_buffers",
                      tokens + "shard position_ids rank=0 tokens=0-1,1-2,6-8\n"),
            Verdict::kClear)
      << "the same in other runs";
  EXPECT_EQ(verdictOf("balance_differs_between_buffers", tokens), Verdict::kNotObservable);
}

TEST(BalanceDiffersRuleTest, RunsWithoutATokenSayNothingOfAShard) {
  EXPECT_EQ(verdictOf("balance_differs_between_buffers",
                      "run cp=2\nshard input_ids rank=0 tokens=0-0 length=4\n"
                      "shard position_ids rank=0 tokens=0-4\n"),
            Verdict::kNotObservable);
}

TEST(BalanceWithoutCausalRuleTest, ABalanceEvensOutCausalWorkOnly) {
  EXPECT_EQ(verdictOf("balance_without_causal", "run cp=2\nintent mask=full balance=head_tail\n"),
            Verdict::kFound);
  EXPECT_EQ(verdictOf("balance_without_causal", "run cp=2\nintent mask=window balance=striped\n"),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("balance_without_causal", "run cp=1\nintent mask=full balance=head_tail\n"),
            Verdict::kClear)
      << "one rank has all of it";
  EXPECT_EQ(verdictOf("balance_without_causal", ""), Verdict::kNotObservable);
}

TEST(UnbalancedUnshardRuleTest, ADeclaredBalanceDealsNoRankItsTokensInARow) {
  const std::string declared = "run cp=2 seq_len=8\nintent balance=head_tail\n";
  EXPECT_EQ(verdictOf("unbalanced_unshard", declared + "shard input_ids rank=0 tokens=0-4\n"),
            Verdict::kFound);
  EXPECT_EQ(verdictOf("unbalanced_unshard", declared + "shard input_ids rank=0 tokens=0-2,6-8\n"),
            Verdict::kClear);
  EXPECT_EQ(verdictOf("unbalanced_unshard", declared + "shard input_ids rank=1 tokens=2-6\n"),
            Verdict::kNotObservable)
      << "head and tail of the last rank are neighbours";
  EXPECT_EQ(verdictOf("unbalanced_unshard", "run cp=2\n"), Verdict::kNotObservable);
}

TEST(UnbalancedUnshardRuleTest, RowsAreTheTokensThatTheScheduleTakesThemFor) {
  const auto trace = test::traceOf("run cp=2 seq_len=8\nshard q rank=1 dim=1 tokens=4-8\n");
  EXPECT_EQ(answerOf("unbalanced_unshard", *trace).verdict, Verdict::kNotObservable);
  ScheduleRecord schedule;
  schedule.rank = WorldRank::of(1);
  schedule.ring = {WorldRank::of(0), WorldRank::of(1)};
  schedule.ulysses = {WorldRank::of(1)};
  schedule.rows = {{4, 4, 1}};
  trace->add(schedule);
  EXPECT_EQ(answerOf("unbalanced_unshard", *trace).verdict, Verdict::kClear);
  schedule.train_step = 1;
  schedule.rows = {{2, 4, 1}};
  trace->add(schedule);
  ShardRecord shard = trace->shards().front();
  shard.train_step = 1;
  trace->add(shard);
  const auto wrong = answerOf("unbalanced_unshard", *trace);
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, "certain");
  EXPECT_EQ(wrong.findings.front().place.train_step, 1);
}

}  // namespace
}  // namespace ringscope::traces
