// SPDX-License-Identifier: Apache-2.0
// The rules about positions and rows that jump, about padding and about omitted hops. Each is
// tested in a recording in which it finds a mistake, in one in which it is clear, and in one in
// which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/attention_passes.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::only;
using test::says;

// -------- padding

/// Returns two ranks with two tokens each: rank 0 has the first and the last, rank 1 those between.
std::string attended(const std::string& intent, const std::string& pieces) {
  return "run cp=2 seq_len=4\ngroup cp 0,1\nshard input_ids rank=0 tokens=0-1,3-4\n"
         "shard input_ids rank=1 tokens=1-3\n" +
         intent + pieces + "end\n";
}
constexpr const char* kRank1 =
    "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal\n"
    "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-1\n";

TEST(PaddingUnmaskedRuleTest, FindsKeysBehindADocument) {
  const std::string all =
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2\n"
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-2 k=0-2\n"
      "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2\n"
      "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-2\n";
  const Finding finding =
      only(answerFrom("padding_unmasked", attended("intent mask=full documents=0-3\n", all)));
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_TRUE(says(finding, "attends 5 (query, key) pairs")) << finding.evidence;
  EXPECT_EQ(findVerdict("documents_ignored", attended("intent mask=full documents=0-3\n", all)),
            Verdict::kNotObservable)
      << "padding is its name";
}

TEST(PaddingUnmaskedRuleTest, NoTokenSeesPaddingUnderACausalMask) {
  const std::string causal =
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal\n"
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=1-2 k=0-2\n";
  const std::string with_padding =
      attended("intent mask=documents documents=0-3\n", causal + kRank1);
  EXPECT_EQ(only(answerFrom("padding_unmasked", with_padding)).severity, Severity::kWarning);
  EXPECT_EQ(
      only(answerFrom("padding_unmasked", with_padding + "diff out layer=0 ratio=0.9\n")).severity,
      Severity::kWarning);
  EXPECT_EQ(
      only(answerFrom("padding_unmasked", with_padding + "diff out layer=0 ratio=9\n")).severity,
      Severity::kError)
      << "rows of padding were compared too";
  EXPECT_EQ(findVerdict("padding_unmasked", attended("intent mask=causal\n", causal + kRank1)),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("padding_unmasked", attended("", causal + kRank1)),
            Verdict::kNotObservable);
}

// -------- jumps

constexpr const char* kRank0Own =
    "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal\n";

TEST(PositionsReadAsDocumentsRuleTest, FindsRowsThatAttendNothingAcrossAJump) {
  const std::string cut =
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-1 k=0-1\n"
      "attend rank=0 layer=0 stage=0 source=0 piece=1 q=1-2 k=1-2\n"
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=1-2 k=1-2\n";
  const std::string text = attended("intent mask=causal\n", cut + kRank1);
  const Finding finding = only(answerFrom("positions_read_as_documents", text));
  EXPECT_EQ(finding.rank, WorldRank::of(0)) << "the tokens of rank 1 do not jump";
  EXPECT_TRUE(says(finding, "leaves out 2 of the 5")) << finding.evidence;
  EXPECT_EQ(findVerdict("causal_on_every_block", text), Verdict::kNotObservable);
}

TEST(PositionsReadAsDocumentsRuleTest, AllPairsAreClearAndOtherMissingOnesAreNotItsOwn) {
  const std::string later = "attend rank=0 layer=0 stage=1 source=1 piece=0 q=1-2 k=0-2\n";
  EXPECT_EQ(findVerdict("positions_read_as_documents",
                        attended("intent mask=causal\n", kRank0Own + later + kRank1)),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("positions_read_as_documents",
                        attended("intent mask=causal\n", std::string(kRank0Own) + kRank1)),
            Verdict::kNotObservable);
}

TEST(LikelyBandTest, APartOfAPlannedTileMaskHasItsPartOfTheBand) {
  const auto trace = test::makeTrace("run cp=2\ngroup cp 0,1\n");
  ScheduleRecord schedule;
  schedule.rank = WorldRank::of(0);
  StageRecord stage;
  stage.source_rank = WorldRank::of(1);
  stage.pieces = {{8, 16, 6, 13, PieceMask::kTileMask, -10, -4}};
  schedule.stages = {stage};
  trace->add(schedule);
  Event piece;
  piece.kind = EventKind::kAttend;
  piece.place = Place{0, Layer::of(0), Direction::kForward, RingStep::of(1)};
  piece.rank = WorldRank::of(0);
  piece.source_rank = WorldRank::of(1);
  piece.mask = PieceMask::kTileMask;
  piece.q_begin = 8;
  piece.q_end = 16;
  piece.k_begin = 8;
  piece.k_end = 13;
  EXPECT_FALSE(attendedBand(*trace, piece).has_value());
  const auto part = likelyBand(*trace, piece);
  ASSERT_TRUE(part.has_value());
  double pairs = 0;
  for (std::int64_t q = 8; q < 16; ++q)
    for (std::int64_t k = 8; k < 13; ++k) pairs += k - q >= -10 && k - q <= -4;
  EXPECT_EQ(part->pairs(), pairs);
  piece.k_end = 14;
  EXPECT_FALSE(likelyBand(*trace, piece).has_value()) << "it is not within the planned one";
}

// -------- groups

constexpr const char* kFourRanks =
    "run dp=2 cp=2 seq_len=4\ngroup cp 0,1\ngroup cp 2,3\ngroup dp 0,2\ngroup dp 1,3\n";

TEST(WrongProcessGroupRuleTest, FindsABlockThatGoesToARankOfAnotherSequence) {
  const Finding finding =
      only(answerFrom("wrong_process_group",
                      std::string(kFourRanks) +
                          "send rank=1 peer=3 payload=kv layer=0 stage=0 bytes=64 group=3\nend\n"));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(says(finding,
                   "to rank 3 in the dp group of ranks 1, 3, and shares its sequence with "
                   "ranks 0, 1 only"))
      << finding.evidence;
}

TEST(WrongProcessGroupRuleTest, BlocksOfAnotherGroupAreNotJudgedByTheirTokens) {
  const std::string own_blocks =
      "intent mask=causal\nshard input_ids rank=0 tokens=0-2\nshard input_ids rank=1 tokens=2-4\n"
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal\n"
      "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal\n";
  const std::string elsewhere = "receive rank=1 peer=3 payload=kv layer=0 stage=0 group=3\nend\n";
  EXPECT_EQ(findVerdict("ring_bypassed", kFourRanks + own_blocks + "end\n"), Verdict::kFound);
  const RuleResult answer = answerFrom("ring_bypassed", kFourRanks + own_blocks + elsewhere);
  EXPECT_NE(answer.would_settle.find("rank 1 exchanges them with rank 3"), std::string::npos)
      << answer.would_settle;
}

TEST(WrongProcessGroupRuleTest, BlocksWithinTheCpGroupAreClearAndWithoutGroupsItCannotTell) {
  const std::string within = "send rank=1 peer=0 payload=kv layer=0 stage=0 group=0\nend\n";
  EXPECT_EQ(findVerdict("wrong_process_group", kFourRanks + within), Verdict::kClear);
  EXPECT_EQ(findVerdict("wrong_process_group", "run dp=2 cp=2\n" + within),
            Verdict::kNotObservable);
}

// -------- hops

std::shared_ptr<Trace> hopped(const std::string& text) {
  const auto trace = test::makeTrace("run cp=2 seq_len=4\ngroup cp 0,1\n" + text);
  ScheduleRecord schedule;
  schedule.ring = {WorldRank::of(0), WorldRank::of(1)};
  schedule.stages = {{RingStep::of(0), WorldRank::of(0), true, WhyEmpty::kAttends, {}},
                     {RingStep::of(1), WorldRank::of(1), false, WhyEmpty::kAttends, {}}};
  trace->add(schedule);
  return trace;
}
constexpr const char* kBothSteps =
    "receive rank=1 peer=0 payload=kv layer=0 stage=0\n"
    "attend rank=0 layer=0 stage=0 source=0 q=0-2 k=0-2\n"
    "attend rank=0 layer=0 stage=1 source=1 q=0-2 k=0-2\n";
constexpr const char* kHung =
    "note ended {\"how\": \"failed\", \"reason\": \"the ranks wait for each other\"}\nend\n";

TEST(DroppedHopRuleTest, FindsTheRankOfAHungRunThatContinuedWithoutAHop) {
  const Finding finding = only(answerFrom("dropped_hop", *hopped(std::string(kBothSteps) + kHung)));
  EXPECT_EQ(finding.rank, WorldRank::of(0));
  EXPECT_EQ(finding.place.stage, RingStep::of(0));
  EXPECT_TRUE(says(finding, "no block had come to it in ring step 0")) << finding.evidence;
}

TEST(DroppedHopRuleTest, ARankThatAttendsNothingAfterItIsFoundByWhatItWaitsFor) {
  const std::string waits =
      "receive rank=1 peer=0 payload=kv layer=0 stage=0\n"
      "attend rank=0 layer=0 stage=0 source=0 q=0-2 k=0-2\n"
      "wait rank=0 peer=1 payload=kv layer=0 stage=1\n";
  EXPECT_EQ(answerFrom("dropped_hop", *hopped(waits + kHung)).verdict, Verdict::kFound);
}

TEST(DroppedHopRuleTest, TheOtherRanksWaitShowsTheHopWithTwoRanks) {
  const std::string waits =
      "attend rank=0 layer=0 stage=0 source=0 q=0-2 k=0-2\n"
      "attend rank=0 layer=0 stage=1 source=1 q=0-2 k=0-2\n"
      "wait rank=1 peer=0 payload=kv layer=0 stage=0\n";
  EXPECT_EQ(only(answerFrom("dropped_hop", *hopped(waits + kHung))).rank, WorldRank::of(0));
}

TEST(DroppedHopRuleTest, FindsNothingWithoutARecordedArrivalOfABlock) {
  const std::string both_steps = kBothSteps;
  const std::string attends = both_steps.substr(both_steps.find('\n') + 1);
  EXPECT_NE(answerFrom("dropped_hop", *hopped(attends + "end\n")).verdict, Verdict::kFound);
}

TEST(DroppedHopRuleTest, CannotJudgeARunThatHungForAnotherReason) {
  const std::string came = "receive rank=0 peer=1 payload=kv layer=0 stage=0\n";
  EXPECT_EQ(answerFrom("dropped_hop", *hopped(kBothSteps + came + kHung)).verdict,
            Verdict::kNotObservable);
  EXPECT_EQ(answerFrom("dropped_hop", *hopped(kBothSteps)).verdict, Verdict::kNotObservable)
      << "a recording without an end may lack the message";
}

// -------- positions

/// Returns chunks of two tokens, dealt head-tail, and each rank's position ids for two rows of the
/// batch.
std::string headTailPositions(const std::string& of_rank_0, const std::string& of_rank_1) {
  return "run cp=2 seq_len=8\ngroup cp 0,1\nintent mask=causal positions=whole_sequence "
         "balance=head_tail\n"
         "shard input_ids rank=0 tokens=0-2,6-8\nshard input_ids rank=1 tokens=2-6\n"
         "tensor position_ids rank=0 shape=2x4 values=" +
         of_rank_0 + "," + of_rank_0 +
         "\ntensor position_ids rank=1 shape=2x4 values=" + of_rank_1 + "," + of_rank_1 + "\n";
}

TEST(AliasedBufferRuleTest, FindsPositionsThatWereReorderedOnceForEachRow) {
  // The order 0 1 6 7 2 3 4 5, applied to itself.
  const Finding finding =
      only(answerFrom("aliased_buffer", headTailPositions("0,1,4,5", "6,7,2,3")));
  EXPECT_TRUE(says(finding, "All 2 rows")) << finding.evidence;
  EXPECT_TRUE(says(finding, "6 of 8 are another token's")) << finding.evidence;
}

TEST(AliasedBufferRuleTest, PositionsOfTheTokensAreClear) {
  EXPECT_EQ(findVerdict("aliased_buffer", headTailPositions("0,1,6,7", "2,3,4,5")),
            Verdict::kClear);
}

TEST(AliasedBufferRuleTest, PositionsThatAreWrongOtherwiseOrMissingItCannotTell) {
  const RuleResult other = answerFrom("aliased_buffer", headTailPositions("0,1,2,3", "0,1,2,3"));
  EXPECT_EQ(other.verdict, Verdict::kNotObservable);
  EXPECT_FALSE(other.capture_helps);
  EXPECT_EQ(findVerdict("aliased_buffer", "run cp=2\ngroup cp 0,1\n"), Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
