// SPDX-License-Identifier: Apache-2.0
// The rules about blocks that travel round a ring. Each is tested in a passes in which it finds
// a mistake, in one in which it is clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::foundAlone;

constexpr const char* kBlockRules[] = {"kv_not_rotated", "stale_kv_in_backward",
                                       "wrong_ring_direction", "non_contiguous_kv"};

std::string block(int rank, int stage, int source, const std::string& what,
                  const char* direction = "forward") {
  return "tensor kv rank=" + std::to_string(rank) + " layer=0 stage=" + std::to_string(stage) +
         " source=" + std::to_string(source) + " direction=" + direction + " " + what + "\n";
}
std::string hashed(int rank, int stage, int source, int hash, const char* direction = "forward") {
  return block(rank, stage, source, "hash=" + std::to_string(hash), direction);
}

/// Returns three ranks; rank r's own block has hash 10 + r. The argument `held` has the source of
/// each rank's block at each ring step, which should be r, r − 1, r − 2.
std::string pass(const int (&held)[3][3], const char* direction) {
  std::string text;
  for (int rank = 0; rank < 3; ++rank)
    for (int stage = 0; stage < 3; ++stage)
      text += hashed(rank, stage, (rank + 3 - stage) % 3, 10 + held[rank][stage], direction);
  return text;
}
constexpr int kRight[3][3] = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
constexpr int kFirst[3][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
constexpr int kOtherWay[3][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};

/// Attention of one token per rank, so that the pairs are known to be right.
constexpr const char* kOneTokenEach = R"(
  run cp=3 seq_len=3
  group cp 0,1,2
  intent mask=documents documents=0-1,1-2,2-3
  shard input_ids rank=0 tokens=0-1
  shard input_ids rank=1 tokens=1-2
  shard input_ids rank=2 tokens=2-3
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-1 k=0-1
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-1 k=0-1
  attend rank=2 layer=0 stage=0 source=2 piece=0 q=0-1 k=0-1
  end
)";

std::string passes(const int (&forward)[3][3], const int (&backward)[3][3]) {
  return kOneTokenEach + pass(forward, "forward") + pass(backward, "backward");
}

TEST(BlockRulesTest, BlocksOfTheirSourcesAreClear) {
  for (const char* rule : kBlockRules)
    EXPECT_EQ(findVerdict(rule, passes(kRight, kRight)), Verdict::kClear) << rule;
}

TEST(BlockRulesTest, WithoutHashesOfBlocksTheyCannotTell) {
  for (const char* rule : kBlockRules) {
    const RuleResult answer = answerFrom(rule, kOneTokenEach);
    EXPECT_EQ(answer.verdict, Verdict::kNotObservable) << rule;
    EXPECT_NE(answer.would_settle.find("hashes of the KV blocks"), std::string::npos)
        << answer.would_settle;
  }
}

TEST(BlockRulesTest, WithoutABlockAsItsOwnerHadItTheyCannotTell) {
  const std::string text = std::string(kOneTokenEach) + hashed(0, 0, 0, 10) + hashed(0, 1, 2, 12);
  for (const char* rule : kBlockRules) {
    const RuleResult answer = answerFrom(rule, text);
    EXPECT_EQ(answer.verdict, Verdict::kNotObservable) << rule;
    EXPECT_NE(answer.would_settle.find("what rank 2 recorded"), std::string::npos)
        << answer.would_settle;
  }
}

TEST(BlockRulesTest, CannotJudgeAnEmptyRecording) {
  for (const char* rule : kBlockRules) EXPECT_EQ(findVerdict(rule, ""), Verdict::kNotObservable);
}

TEST(BlockRulesTest, OneRankAloneHasNothingToPassRound) {
  for (const char* rule : {"stale_kv_in_backward", "wrong_ring_direction", "non_contiguous_kv"})
    EXPECT_EQ(findVerdict(rule, "run cp=1\nend\n"), Verdict::kClear) << rule;
}

TEST(BlockRulesTest, KAndVThatBackwardComputedAgainAreComparedAmongThemselves) {
  std::string again;
  for (int rank = 0; rank < 3; ++rank)
    for (int stage = 0; stage < 3; ++stage)
      again += hashed(rank, stage, (rank + 3 - stage) % 3, 20 + kRight[rank][stage], "backward");
  for (const char* rule : kBlockRules)
    EXPECT_EQ(findVerdict(rule, kOneTokenEach + pass(kRight, "forward") + again), Verdict::kClear)
        << rule;
}

TEST(KvNotRotatedRuleTest, FindsTheFirstBlockAtEveryRingStep) {
  const Finding finding = foundAlone(kBlockRules, "kv_not_rotated", passes(kFirst, kFirst));
  EXPECT_EQ(finding.rank, WorldRank::of(0));
  EXPECT_EQ(finding.place.stage, RingStep::of(1));
  EXPECT_EQ(finding.place.direction, Direction::kForward);
  EXPECT_NE(finding.evidence.find("At 2 of 2 ring steps"), std::string::npos) << finding.evidence;
}

TEST(StaleKvInBackwardRuleTest, FindsTheFirstBlockAtEveryRingStepOfBackward) {
  const Finding finding = foundAlone(kBlockRules, "stale_kv_in_backward", passes(kRight, kFirst));
  EXPECT_EQ(finding.rank, WorldRank::of(0));
  EXPECT_EQ(finding.place.direction, Direction::kBackward);
  EXPECT_EQ(finding.place.stage, RingStep::of(1));
}

TEST(StaleKvInBackwardRuleTest, FindsItToWhereARanksOwnBlockComesLast) {
  std::string backward;
  for (int rank = 0; rank < 3; ++rank)
    for (int stage = 0; stage < 3; ++stage)
      backward += hashed(rank, stage, (rank + 1 + stage) % 3, 10 + (rank + 1) % 3, "backward");
  const Finding finding = foundAlone(kBlockRules, "stale_kv_in_backward",
                                     kOneTokenEach + pass(kRight, "forward") + backward);
  EXPECT_EQ(finding.place.stage, RingStep::of(1));
}

TEST(StaleKvInBackwardRuleTest, WithoutForwardsBlocksItIsNotCalledStale) {
  for (const char* rule : kBlockRules)
    EXPECT_EQ(findVerdict(rule, kOneTokenEach + pass(kFirst, "backward")), Verdict::kNotObservable)
        << rule;
}

TEST(WrongRingDirectionRuleTest, FindsBlocksOfOtherRanksByTheirHashes) {
  const Finding finding =
      foundAlone(kBlockRules, "wrong_ring_direction", passes(kOtherWay, kOtherWay));
  EXPECT_EQ(finding.rank, WorldRank::of(0));
  EXPECT_NE(finding.evidence.find("takes for that of rank 2 has the hash of rank 1"),
            std::string::npos)
      << finding.evidence;
}

TEST(WrongRingDirectionRuleTest, FindsMessagesOfWhichTheEndsDisagree) {
  const std::string sent = std::string(kOneTokenEach) + pass(kRight, "forward") +
                           "send rank=0 peer=1 payload=dkv flow=7 layer=0 stage=0 source=0 "
                           "direction=backward\n"
                           "receive rank=1 peer=0 payload=dkv flow=7 layer=0 stage=0 "
                           "direction=backward source=";
  EXPECT_EQ(findVerdict("wrong_ring_direction", sent + "0\n"), Verdict::kClear);
  const auto wrong = answerFrom("wrong_ring_direction", sent + "2\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
  EXPECT_EQ(wrong.findings.front().buffer, "dkv");
}

TEST(WrongRingDirectionRuleTest, AMessageWithOneEndIsNotCalledRight) {
  EXPECT_EQ(findVerdict("wrong_ring_direction",
                        std::string(kOneTokenEach) + pass(kRight, "forward") +
                            "send rank=0 peer=1 payload=kv flow=7 layer=0 stage=0 source=0\n"),
            Verdict::kNotObservable);
}

TEST(NonContiguousKvRuleTest, FindsTheSameValuesInAnotherOrder) {
  const std::string own = std::string(kOneTokenEach) + block(0, 0, 0, "shape=4 values=1,2,3,4") +
                          block(1, 0, 1, "shape=4 values=5,6,7,8");
  const Finding finding =
      foundAlone(kBlockRules, "non_contiguous_kv", own + block(1, 1, 0, "shape=4 values=1,3,2,4"));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_EQ(finding.place.stage, RingStep::of(1));
  for (const char* rule : kBlockRules)
    EXPECT_EQ(findVerdict(rule, own + block(1, 1, 0, "shape=4 values=1,3,2.5,4")),
              Verdict::kNotObservable)
        << rule << ": other values were not reordered";
}

TEST(NonContiguousKvRuleTest, RecordedValuesShowWhetherMemoryWasReadInThatOrder) {
  const auto held = [](const std::string& k, const std::string& v) {
    return "shape=2x1x2x2x1 values=" + k + "," + v;
  };
  const std::string v = "10,20,30,40", own = std::string(kOneTokenEach) +
                                             block(0, 0, 0, held("1,2,3,4", v)) +
                                             block(1, 0, 1, held("5,6,7,8", v));
  const auto read = answerFrom("non_contiguous_kv", own + block(1, 1, 0, held("1,3,2,4", v)));
  ASSERT_EQ(read.verdict, Verdict::kFound) << read.would_settle;
  EXPECT_EQ(read.findings.front().confidence, Confidence::kCertain);
  EXPECT_EQ(findVerdict("non_contiguous_kv", own + block(1, 1, 0, held("3,4,1,2", v))),
            Verdict::kNotObservable)
      << "heads in another order are no memory that was read by other strides";
}

constexpr const char* kBackward = R"(
  run cp=2
  group cp 0,1
  attend rank=0 layer=0 stage=0 source=0 direction=backward q=0-1 k=0-1
  attend rank=1 layer=0 stage=0 source=1 direction=backward q=0-1 k=0-1
  attend rank=1 layer=0 stage=1 source=0 direction=backward q=0-1 k=0-1
)";
constexpr const char* kHome =
    "receive rank=0 peer=1 payload=dkv flow=3 layer=0 stage=1 direction=backward source=0\n";

TEST(DkvNotReturnedRuleTest, FindsARankThatGetsNoGradientsOfItsKeys) {
  EXPECT_EQ(findVerdict("dkv_not_returned", std::string(kBackward) + kHome + "end\n"),
            Verdict::kClear);
  const auto wrong = answerFrom("dkv_not_returned", std::string(kBackward) + "end\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(0)) << "nobody else attends rank 1's keys";
  EXPECT_EQ(wrong.findings.front().place.layer, Layer::of(0));
}

TEST(DkvNotReturnedRuleTest, FindsARanksOwnSumsThatItSentAwayAndNeverGotBack) {
  const std::string alone =
      "run cp=2\ngroup cp 0,1\n"
      "attend rank=0 layer=0 stage=0 source=0 direction=backward q=0-1 k=0-1\n"
      "attend rank=1 layer=0 stage=0 source=1 direction=backward q=0-1 k=0-1\n";
  EXPECT_EQ(findVerdict("dkv_not_returned", alone + "end\n"), Verdict::kClear);
  const std::string away =
      "send rank=0 peer=1 payload=dkv flow=2 layer=0 stage=0 direction=backward source=0\n";
  EXPECT_EQ(findVerdict("dkv_not_returned", alone + away + "end\n"), Verdict::kFound);
  EXPECT_EQ(findVerdict("dkv_not_returned", alone + away + kHome + "end\n"), Verdict::kClear);
}

TEST(DkvNotReturnedRuleTest, AnIncompleteRecordingProvesNothing) {
  EXPECT_EQ(findVerdict("dkv_not_returned", kBackward), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("dkv_not_returned",
                        std::string(kBackward) + "note ended {\"how\": \"failed\"}\nend\n"),
            Verdict::kNotObservable);
}

TEST(DroppedHopRuleTest, EverySendHasItsReceive) {
  const std::string send = "run cp=2\nsend rank=0 peer=1 payload=kv flow=7 layer=0 stage=0\n";
  const std::string receive = "receive rank=1 peer=0 payload=kv flow=7 layer=0 stage=0\n";
  const std::string other = "attend rank=1 layer=0 stage=0\n";
  const auto wrong = answerFrom("dropped_hop", send + other + "end\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(0));
  EXPECT_EQ(answerFrom("dropped_hop", send + receive + "end\n").verdict, Verdict::kClear);
  EXPECT_EQ(answerFrom("dropped_hop", send).verdict, Verdict::kNotObservable)
      << "the passes was cut";
  EXPECT_EQ(answerFrom("dropped_hop", send + "end dropped=3\n").verdict, Verdict::kNotObservable);
  const auto one_file = answerFrom("dropped_hop", send + "end\n");
  ASSERT_EQ(one_file.verdict, Verdict::kNotObservable) << "rank 1 wrote a file of its own";
  EXPECT_NE(one_file.would_settle.find("rank 1"), std::string::npos) << one_file.would_settle;
}

TEST(DroppedHopRuleTest, AnEventThatCannotBeReadIsNoDroppedHop) {
  const std::string send =
      "run cp=2\nsend rank=0 peer=1 payload=kv flow=7 layer=0 stage=0\n"
      "attend rank=1 layer=0 stage=0\nend\n";
  const auto trace = test::makeTrace(send);
  EndRecord end = *trace->end();
  end.rows_by_kind = std::vector<std::uint64_t>(static_cast<std::size_t>(ChunkKind::kCount));
  end.rows_by_kind[static_cast<std::size_t>(ChunkKind::kEvents)] = 3;
  trace->add(end);
  EXPECT_EQ(answerFrom("dropped_hop", *trace).verdict, Verdict::kNotObservable);
  end.rows_by_kind[static_cast<std::size_t>(ChunkKind::kEvents)] = 2;
  trace->add(end);
  EXPECT_EQ(answerFrom("dropped_hop", *trace).verdict, Verdict::kFound);
}

}  // namespace
}  // namespace ringscope::traces
