// SPDX-License-Identifier: Apache-2.0
// The rules about dealing buffers, heads and documents to ranks. Each is tested in a recording in
// which it finds a mistake, in one in which it is clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::only;
using test::says;

/// Returns two ranks that share a sequence.
std::shared_ptr<Trace> twoSharing(const std::string& more = "") {
  return test::makeTrace("run cp=2 heads=4 seq_len=8\ngroup cp 0,1\n" + more);
}

/// Returns a part of a buffer of one row.
ShardRecord shardFor(int rank, std::int64_t length, std::vector<TokenRun> tokens) {
  std::int64_t own = 0;
  for (const TokenRun& run : tokens) own += run.end - run.begin;
  return {"input_ids", 0, WorldRank::of(rank), true, 1, {1, length}, {1, own}, std::move(tokens)};
}

// -------- documents

constexpr const char* kTwoDocuments =
    "intent mask=documents balance=per_document documents=0-4,4-16\n";

TEST(BalanceCutsDocumentsRuleTest, FindsTokensThatAreNotHeadAndTailOfEachDocument) {
  const auto trace = twoSharing(kTwoDocuments);
  trace->add(shardFor(0, 16, {{0, 4}, {12, 16}}));
  trace->add(shardFor(1, 16, {{4, 12}}));
  const Finding finding = only(answerFrom("balance_cuts_documents", *trace));
  EXPECT_EQ(finding.severity, Severity::kWarning);
  // Rank 0 has 1 + 2 + 3 + 4 and 9 + 10 + 11 + 12 keys, rank 1 has 1 to 8.
  EXPECT_TRUE(says(finding, "from 36 to 52 (query, key) pairs")) << finding.evidence;
}

TEST(BalanceCutsDocumentsRuleTest, HeadAndTailOfEachDocumentAndItsPaddingAreClear) {
  const auto trace = twoSharing(kTwoDocuments);
  trace->add(shardFor(0, 16, {{0, 1}, {3, 4}, {4, 7}, {13, 16}}));
  trace->add(shardFor(1, 16, {{1, 3}, {7, 13}}));
  EXPECT_EQ(answerFrom("balance_cuts_documents", *trace).verdict, Verdict::kClear);
  const auto padded = twoSharing("intent mask=documents balance=per_document documents=0-3,4-14\n");
  padded->add(shardFor(0, 16, {{0, 1}, {3, 7}, {13, 16}}));
  EXPECT_EQ(answerFrom("balance_cuts_documents", *padded).verdict, Verdict::kClear);
}

TEST(BalanceCutsDocumentsRuleTest, ABalanceOfTheSequenceThatWasDeclaredIsClear) {
  const auto trace = twoSharing("intent mask=documents balance=head_tail documents=0-4,4-16\n");
  trace->add(shardFor(0, 16, {{0, 4}, {12, 16}}));
  EXPECT_EQ(answerFrom("balance_cuts_documents", *trace).verdict, Verdict::kClear);
}

TEST(BalanceCutsDocumentsRuleTest, WithoutADeclarationItCannotTell) {
  const auto trace = twoSharing();
  trace->add(shardFor(0, 16, {{0, 4}, {12, 16}}));
  EXPECT_EQ(answerFrom("balance_cuts_documents", *trace).verdict, Verdict::kNotObservable);
}

// -------- heads

std::shared_ptr<Trace> withHeads(const std::vector<std::pair<int, int>>& of_ranks, int heads) {
  const auto trace = test::makeTrace("run cp=" + std::to_string(of_ranks.size()) +
                                     " strategy=ulysses heads=" + std::to_string(heads) + "\n");
  ScheduleRecord schedule;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    schedule.ulysses.push_back(WorldRank::of(rank));
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    schedule.rank = WorldRank::of(rank);
    schedule.ring = {schedule.rank};
    schedule.q_head_begin = of_ranks[rank].first;
    schedule.q_head_end = of_ranks[rank].second;
    trace->add(schedule);
  }
  return trace;
}

TEST(HeadsNotDivisibleRuleTest, FindsHeadsThatNobodyAttends) {
  const Finding finding =
      only(answerFrom("heads_not_divisible", *withHeads({{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 6)));
  EXPECT_TRUE(says(finding, "6 query heads are shared by 4 ranks")) << finding.evidence;
  EXPECT_TRUE(says(finding, "heads 4 to 5 are attended by none")) << finding.evidence;
}

TEST(HeadsNotDivisibleRuleTest, FindsHeadsThatTwoRanksAttend) {
  const Finding finding = only(answerFrom("heads_not_divisible", *withHeads({{0, 3}, {2, 4}}, 4)));
  EXPECT_TRUE(says(finding, "head 2 is attended by several")) << finding.evidence;
}

TEST(HeadsNotDivisibleRuleTest, EqualAndUnequalPartsOfAllHeadsAreClear) {
  EXPECT_EQ(answerFrom("heads_not_divisible", *withHeads({{0, 2}, {2, 4}}, 4)).verdict,
            Verdict::kClear);
  EXPECT_EQ(answerFrom("heads_not_divisible", *withHeads({{0, 3}, {3, 4}}, 4)).verdict,
            Verdict::kClear)
      << "cut unevenly on purpose";
}

TEST(HeadsNotDivisibleRuleTest, WithoutTheHeadsOfARankItCannotTell) {
  EXPECT_EQ(findVerdict("heads_not_divisible", "run cp=2 heads=4\n"), Verdict::kNotObservable);
  const auto trace = test::makeTrace("run cp=2 heads=4\n");
  ScheduleRecord one;
  one.ulysses = {WorldRank::of(0), WorldRank::of(1)};
  one.q_head_end = 2;
  trace->add(one);
  const RuleResult answer = answerFrom("heads_not_divisible", *trace);
  EXPECT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("ringscope merge"), std::string::npos);
}

// -------- whole sequences

TEST(CpNotAppliedRuleTest, FindsRanksThatHoldTheWholeSequence) {
  const auto trace = twoSharing();
  trace->add(shardFor(0, 8, {{0, 8}}));
  trace->add(shardFor(1, 8, {{0, 8}}));
  const Finding finding = only(answerFrom("cp_not_applied", *trace));
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_TRUE(says(finding, "all 8 tokens of a sequence that is configured for 2 ranks, as do 2"))
      << finding.evidence;
}

TEST(CpNotAppliedRuleTest, PartsOfASequenceAreClearAndNoShardsAreNotJudged) {
  const auto trace = twoSharing();
  EXPECT_EQ(answerFrom("cp_not_applied", *trace).verdict, Verdict::kNotObservable);
  trace->add(shardFor(0, 8, {{0, 4}}));
  EXPECT_EQ(answerFrom("cp_not_applied", *trace).verdict, Verdict::kClear);
  EXPECT_EQ(findVerdict("cp_not_applied", "run cp=1\nshard input_ids tokens=0-8\n"),
            Verdict::kClear);
}

// -------- dimensions

std::shared_ptr<Trace> cutAlong(std::int32_t dim, std::vector<std::int64_t> local) {
  const auto trace = twoSharing();
  IntentRecord meant;
  meant.buffers = {{"labels", 1}};
  trace->add(meant);
  trace->add(ShardRecord{"labels", 0, WorldRank::of(1), true, dim, {4, 8}, std::move(local), {}});
  return trace;
}

TEST(WrongBufferDimRuleTest, FindsABufferThatWasCutAlongTheBatch) {
  const Finding finding = only(answerFrom("wrong_buffer_dim", *cutAlong(0, {2, 8})));
  EXPECT_EQ(finding.buffer, "labels");
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(says(finding, "cut along dimension 0, from (4, 8) to (2, 8)")) << finding.evidence;
}

TEST(WrongBufferDimRuleTest, TrustsTheShapeOverTheDeclaredDimension) {
  EXPECT_EQ(answerFrom("wrong_buffer_dim", *cutAlong(1, {2, 8})).verdict, Verdict::kFound);
}

TEST(WrongBufferDimRuleTest, IsClearForTheDeclaredDimensionAndNeedsADeclaration) {
  EXPECT_EQ(answerFrom("wrong_buffer_dim", *cutAlong(1, {4, 4})).verdict, Verdict::kClear);
  const auto trace = twoSharing();
  trace->add(shardFor(0, 8, {{0, 4}}));
  EXPECT_EQ(answerFrom("wrong_buffer_dim", *trace).verdict, Verdict::kNotObservable);
}

// -------- lengths

TEST(UnevenShardsRuleTest, FindsTokensThatAreOnNoRank) {
  const auto trace = twoSharing();
  trace->add(shardFor(0, 11, {{0, 2}, {6, 8}}));
  trace->add(shardFor(1, 11, {{2, 6}}));
  const Finding finding = only(answerFrom("uneven_shards", *trace));
  EXPECT_TRUE(says(finding, "11 tokens, and tokens 8 to 10 are on none of its 2 ranks"))
      << finding.evidence;
}

TEST(UnevenShardsRuleTest, AllTokensOnceAreClear) {
  const auto trace = twoSharing();
  trace->add(shardFor(0, 7, {{0, 4}}));
  trace->add(shardFor(1, 7, {{4, 7}}));
  EXPECT_EQ(answerFrom("uneven_shards", *trace).verdict, Verdict::kClear) << "uneven and complete";
}

TEST(UnevenShardsRuleTest, WithoutARankOrWithTokensOnSeveralItCannotTell) {
  const auto trace = twoSharing();
  trace->add(shardFor(0, 8, {{0, 4}}));
  EXPECT_EQ(answerFrom("uneven_shards", *trace).verdict, Verdict::kNotObservable);
  trace->add(shardFor(1, 8, {{2, 6}}));
  EXPECT_NE(answerFrom("uneven_shards", *trace).would_settle.find("one rank each"),
            std::string::npos);
}

TEST(BalanceDiffersRuleTest, ARankHasTheSameTokensOfEveryBuffer) {
  const std::string tokens = "run cp=2\nshard input_ids rank=0 tokens=0-2,6-8\n";
  const auto wrong = answerFrom("balance_differs_between_buffers",
                                tokens + "shard position_ids rank=0 tokens=0-4\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().buffer, "position_ids");
  EXPECT_NE(wrong.findings.front().evidence.find("Row 2"), std::string::npos);
  EXPECT_EQ(findVerdict("balance_differs_between_buffers",
                        tokens + "shard position_ids rank=0 tokens=0-1,1-2,6-8\n"),
            Verdict::kClear)
      << "the same in other runs";
  EXPECT_EQ(findVerdict("balance_differs_between_buffers", tokens), Verdict::kNotObservable);
}

TEST(BalanceDiffersRuleTest, RunsWithoutATokenSayNothingOfAShard) {
  EXPECT_EQ(findVerdict("balance_differs_between_buffers",
                        "run cp=2\nshard input_ids rank=0 tokens=0-0 length=4\n"
                        "shard position_ids rank=0 tokens=0-4\n"),
            Verdict::kNotObservable);
}

TEST(BalanceWithoutCausalRuleTest, ABalanceEvensOutCausalWorkOnly) {
  EXPECT_EQ(findVerdict("balance_without_causal", "run cp=2\nintent mask=full balance=head_tail\n"),
            Verdict::kFound);
  EXPECT_EQ(findVerdict("balance_without_causal", "run cp=2\nintent mask=window balance=striped\n"),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("balance_without_causal", "run cp=1\nintent mask=full balance=head_tail\n"),
            Verdict::kClear)
      << "one rank has all of it";
  EXPECT_EQ(findVerdict("balance_without_causal", ""), Verdict::kNotObservable);
}

TEST(UnbalancedUnshardRuleTest, ADeclaredBalanceDealsNoRankItsTokensInARow) {
  const std::string declared = "run cp=2 seq_len=8\nintent balance=head_tail\n";
  EXPECT_EQ(findVerdict("unbalanced_unshard", declared + "shard input_ids rank=0 tokens=0-4\n"),
            Verdict::kFound);
  EXPECT_EQ(findVerdict("unbalanced_unshard", declared + "shard input_ids rank=0 tokens=0-2,6-8\n"),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("unbalanced_unshard", declared + "shard input_ids rank=1 tokens=2-6\n"),
            Verdict::kNotObservable)
      << "head and tail of the last rank are neighbours";
  EXPECT_EQ(findVerdict("unbalanced_unshard", "run cp=2\n"), Verdict::kNotObservable);
}

TEST(UnbalancedUnshardRuleTest, RowsAreTheTokensThatTheScheduleTakesThemFor) {
  const auto trace = test::makeTrace("run cp=2 seq_len=8\nshard q rank=1 dim=1 tokens=4-8\n");
  EXPECT_EQ(answerFrom("unbalanced_unshard", *trace).verdict, Verdict::kNotObservable);
  ScheduleRecord schedule;
  schedule.rank = WorldRank::of(1);
  schedule.ring = {WorldRank::of(0), WorldRank::of(1)};
  schedule.ulysses = {WorldRank::of(1)};
  schedule.rows = {{4, 4, 1}};
  trace->add(schedule);
  EXPECT_EQ(answerFrom("unbalanced_unshard", *trace).verdict, Verdict::kClear);
  schedule.train_step = 1;
  schedule.rows = {{2, 4, 1}};
  trace->add(schedule);
  ShardRecord shard = trace->shards().front();
  shard.train_step = 1;
  trace->add(shard);
  const auto wrong = answerFrom("unbalanced_unshard", *trace);
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kCertain);
  EXPECT_EQ(wrong.findings.front().place.train_step, 1);
}

}  // namespace
}  // namespace ringscope::traces
