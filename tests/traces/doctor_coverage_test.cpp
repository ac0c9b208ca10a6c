// SPDX-License-Identifier: Apache-2.0
// The rules about attended (query, key) pairs. Each is tested in a recording in which it finds a
// mistake, in one in which it is clear, and in one in which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::foundAlone;
using test::says;

constexpr const char* kCoverageRules[] = {"ring_bypassed",         "no_skip_future_block",
                                          "causal_on_every_block", "mask_dropped",
                                          "documents_ignored",     "kv_not_rotated"};

/// Two ranks with two tokens each.
constexpr const char* kTwoTokensEach = R"(
  run cp=2 seq_len=4
  group cp 0,1
  shard input_ids rank=0 tokens=0-2
  shard input_ids rank=1 tokens=2-4
  tensor kv rank=0 layer=0 stage=0 source=0 hash=10
  tensor kv rank=1 layer=0 stage=0 source=1 hash=11
)";
constexpr const char* kCausal = "intent mask=causal\n";
/// Each rank attends its own block, causally.
constexpr const char* kOwnBlocks =
    "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal\n"
    "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal\n";
/// Rank 1 attends the block of rank 0.
constexpr const char* kEarlierBlock =
    "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-2\n";

std::string recording(const std::string& intent, const std::string& pieces) {
  return kTwoTokensEach + intent + pieces + "end\n";
}

TEST(CoverageRulesTest, EveryPairOfTheMaskOnceIsClear) {
  for (const char* rule : kCoverageRules)
    EXPECT_EQ(findVerdict(rule, recording(kCausal, std::string(kOwnBlocks) + kEarlierBlock)),
              Verdict::kClear)
        << rule;
}

TEST(CoverageRulesTest, WithoutTheDeclaredMaskTheyCannotTell) {
  for (const char* rule : kCoverageRules)
    EXPECT_EQ(findVerdict(rule, recording("", std::string(kOwnBlocks) + kEarlierBlock)),
              Verdict::kNotObservable)
        << rule;
}

TEST(CoverageRulesTest, WithoutTheTokensOfARankTheyCannotTell) {
  std::string text = recording(kCausal, std::string(kOwnBlocks) + kEarlierBlock);
  const std::string shard = "shard input_ids rank=0 tokens=0-2";
  text.erase(text.find(shard), shard.size());
  for (const char* rule : kCoverageRules) {
    const RuleResult answer = answerFrom(rule, text);
    EXPECT_EQ(answer.verdict, Verdict::kNotObservable) << rule;
    EXPECT_NE(answer.would_settle.find("tokens rank 0 attends"), std::string::npos)
        << answer.would_settle;
  }
}

TEST(CoverageRulesTest, JudgesMissingPairsOnlyInACompleteRecording) {
  const std::string cut = std::string(kTwoTokensEach) + kCausal + kOwnBlocks;
  for (const char* rule : kCoverageRules)
    EXPECT_EQ(findVerdict(rule, cut), Verdict::kNotObservable) << rule;
  const std::string stopped = cut + "note ended {\"how\": \"stopped\"}\nend\n";
  EXPECT_EQ(findVerdict("ring_bypassed", stopped), Verdict::kNotObservable)
      << "it may have been about to attend the rest";
}

TEST(CoverageRulesTest, PairsThatNobodyAttendsForNoKnownReasonAreNotCalledClear) {
  const std::string text =
      recording(kCausal, std::string(kOwnBlocks) +
                             "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-1\n");
  for (const char* rule : kCoverageRules) {
    const RuleResult answer = answerFrom(rule, text);
    EXPECT_EQ(answer.verdict, Verdict::kNotObservable) << rule;
    EXPECT_NE(answer.would_settle.find("rank 1 leaves out 2 of 7"), std::string::npos)
        << answer.would_settle;
  }
}

TEST(RingBypassedRuleTest, FindsRanksThatAttendTheirOwnBlocksOnly) {
  const Finding finding =
      foundAlone(kCoverageRules, "ring_bypassed", recording(kCausal, kOwnBlocks));
  EXPECT_EQ(finding.rank, WorldRank::of(1)) << "rank 0 has no earlier block";
  EXPECT_EQ(finding.place.layer, Layer::of(0));
  EXPECT_TRUE(says(finding, "leaves out 4 of the 7")) << finding.evidence;
}

TEST(RingBypassedRuleTest, ACausalPieceDoesNotMaskTheKeysOfAnotherPiece) {
  // Rank 1 has its later tokens first, so the piece above its first piece is its second.
  const Finding finding =
      foundAlone(kCoverageRules, "ring_bypassed",
                 "run cp=2 seq_len=8\ngroup cp 0,1\nintent mask=causal\n"
                 "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=6-8,4-6\n"
                 "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-4 k=0-4 mask=causal\n"
                 "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal\n"
                 "attend rank=1 layer=0 stage=0 source=1 piece=1 q=0-2 k=2-4\n"
                 "attend rank=1 layer=0 stage=0 source=1 piece=2 q=2-4 k=2-4 mask=causal\n"
                 "end\n");
  EXPECT_TRUE(says(finding, "leaves out 16 of the 26")) << finding.evidence;
}

TEST(RingBypassedRuleTest, NoBlockIsMissedWhenDocumentsEndAtTheShards) {
  EXPECT_EQ(findVerdict("ring_bypassed",
                        recording("intent mask=documents documents=0-2,2-4\n", kOwnBlocks)),
            Verdict::kClear);
}

TEST(NoSkipFutureBlockRuleTest, FindsBlocksOfLaterTokensThatAreAttended) {
  const std::string future =
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-2 k=0-2\n" + std::string(kEarlierBlock);
  const Finding finding =
      foundAlone(kCoverageRules, "no_skip_future_block", recording(kCausal, kOwnBlocks + future));
  EXPECT_EQ(finding.rank, WorldRank::of(0));
  EXPECT_EQ(finding.place.stage, RingStep::of(1));
  EXPECT_TRUE(says(finding, "Of 4 (query, key) pairs")) << finding.evidence;
  EXPECT_EQ(findVerdict("no_skip_future_block", kTwoTokensEach + std::string(kCausal) + future),
            Verdict::kFound)
      << "what was attended was, whatever came of the run";
}

TEST(CausalOnEveryBlockRuleTest, FindsPairsThatACausalMaskLeavesOut) {
  const Finding finding = foundAlone(
      kCoverageRules, "causal_on_every_block",
      recording(kCausal, std::string(kOwnBlocks) + "attend rank=1 layer=0 stage=1 source=0 "
                                                   "piece=0 q=0-2 k=0-2 mask=causal\n"));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_EQ(finding.place.stage, RingStep::of(1));
  EXPECT_TRUE(says(finding, "leave out 1 (query, key) pair that")) << finding.evidence;
}

TEST(CausalOnEveryBlockRuleTest, FindsToTheKeysThatLieBeyondASquare) {
  const Finding finding = foundAlone(
      kCoverageRules, "causal_on_every_block",
      recording("intent mask=full\n",
                "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2\n"
                "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2\n"
                "attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-2 k=0-2\n"
                "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-1 k=0-1 mask=causal\n"
                "attend rank=1 layer=0 stage=1 source=0 piece=1 q=1-2 k=0-2\n"));
  EXPECT_TRUE(says(finding, "leave out 1 (query, key) pair that")) << finding.evidence;
}

TEST(MaskDroppedRuleTest, FindsKeysThatHaveLeftTheWindow) {
  const Finding finding = foundAlone(
      kCoverageRules, "mask_dropped",
      recording("intent mask=window window=2\n", std::string(kOwnBlocks) + kEarlierBlock));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(says(finding, "attends 3 (query, key) pairs")) << finding.evidence;
  EXPECT_TRUE(says(finding, "window of 2 tokens")) << finding.evidence;
}

TEST(MaskDroppedRuleTest, FindsLaterKeysOfARanksOwnBlock) {
  const std::string full =
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2\n"
      "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2\n";
  const Finding finding =
      foundAlone(kCoverageRules, "mask_dropped", recording(kCausal, full + kEarlierBlock));
  EXPECT_TRUE(says(finding, "comes after its query")) << finding.evidence;
}

TEST(MaskDroppedRuleTest, AWindowThatIsOneTooWideIsNotDropped) {
  const std::string wider =
      "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-1 k=0-2\n"
      "attend rank=1 layer=0 stage=1 source=0 piece=1 q=1-2 k=1-2\n";
  const auto answer =
      answerFrom("mask_dropped", recording("intent mask=window window=2\n", kOwnBlocks + wider));
  ASSERT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("rank 1 goes beyond them"), std::string::npos)
      << answer.would_settle;
}

TEST(DocumentsIgnoredRuleTest, FindsPairsOfTwoDocuments) {
  const Finding finding = foundAlone(kCoverageRules, "documents_ignored",
                                     recording("intent mask=documents documents=0-2,2-4\n",
                                               std::string(kOwnBlocks) + kEarlierBlock));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
  EXPECT_TRUE(says(finding, "attends 4 (query, key) pairs of two documents")) << finding.evidence;
}

TEST(DocumentsIgnoredRuleTest, OtherDocumentBordersDoNotCountAsIgnoredDocuments) {
  // The pieces match documents that end at 3 tokens; the documents were declared to end at 2.
  const std::string text =
      recording("intent mask=documents documents=0-2,2-4\n",
                "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal\n"
                "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-1 k=0-1\n"
                "attend rank=1 layer=0 stage=0 source=1 piece=1 q=1-2 k=1-2\n"
                "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-1 k=0-2\n");
  const auto answer = answerFrom("documents_ignored", text);
  EXPECT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("rank 1 crosses some"), std::string::npos)
      << answer.would_settle;
}

TEST(DocumentsIgnoredRuleTest, ATileMaskThatIsNotRecordedIsTakenForTheDeclaredWindow) {
  const std::string one_rank =
      "run cp=1 seq_len=4\nshard input_ids rank=0 tokens=0-4\n"
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-4 k=0-4 mask=tile_mask\nend\n";
  const std::string documents = "intent mask=documents window=2 documents=0-2,2-4\n";
  const auto wrong = answerFrom("documents_ignored", documents + one_rank);
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_TRUE(says(wrong.findings.front(), "attends 1 (query, key) pair "))
      << wrong.findings.front().evidence;
  EXPECT_EQ(findVerdict("documents_ignored", "intent mask=window window=2\n" + one_rank),
            Verdict::kClear);
}

TEST(KvNotRotatedRuleTest, FindsABlockThatIsAttendedTwice) {
  const Finding finding = foundAlone(
      kCoverageRules, "kv_not_rotated",
      recording(kCausal, std::string(kOwnBlocks) + kEarlierBlock +
                             "attend rank=1 layer=0 stage=2 source=0 piece=0 q=1-2 k=0-2\n"));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_EQ(finding.place.stage, RingStep::of(2));
  EXPECT_TRUE(says(finding, "attends 2 (query, key) pairs again")) << finding.evidence;
}

TEST(KvNotRotatedRuleTest, APieceThatIsTwiceInOneRingStepIsNoBlockThatStays) {
  const auto answer = answerFrom(
      "kv_not_rotated",
      recording(kCausal, std::string(kOwnBlocks) + kEarlierBlock +
                             "attend rank=1 layer=0 stage=1 source=0 piece=1 q=1-2 k=0-2\n"));
  ASSERT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("attends some twice at one of them"), std::string::npos)
      << answer.would_settle;
}

TEST(KvNotRotatedRuleTest, AnEventThatADamagedFileHoldsTwiceIsOnePiece) {
  const std::string piece = "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-2 time=5-9\n";
  EXPECT_EQ(findVerdict("kv_not_rotated", recording(kCausal, kOwnBlocks + piece + piece)),
            Verdict::kClear);
}

TEST(CoverageRulesTest, RowsThatAreStridedAreComparedByTheirTokens) {
  const std::string striped = R"(
    run cp=2 seq_len=4
    group cp 0,1
    shard input_ids rank=0 tokens=0-1,2-3
    shard input_ids rank=1 tokens=1-2,3-4
    tensor kv rank=0 layer=0 stage=0 source=0 hash=10
    attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal
    attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal
    attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-2 mask=causal
  )";
  const std::string strict =
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-2 k=0-2 mask=strict\nend\n";
  const std::string inclusive =
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-2 k=0-2 mask=causal\nend\n";
  EXPECT_EQ(findVerdict("no_skip_future_block", striped + kCausal + strict), Verdict::kClear);
  const Finding finding =
      foundAlone(kCoverageRules, "no_skip_future_block", striped + kCausal + inclusive);
  EXPECT_TRUE(says(finding, "Of 2 (query, key) pairs")) << finding.evidence;
}

TEST(CoverageRulesTest, RunsAsLongAsAFormatAllowsAreCountedWithoutLookingAtEachToken) {
  const std::string longest =
      "run cp=1\nintent mask=documents window=9 documents=0-500000000000\n"
      "shard input_ids rank=0 tokens=0-1000000000000\n"
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-9 k=0-9\nend\n";
  EXPECT_EQ(findVerdict("mask_dropped", longest), Verdict::kFound) << "later keys of its own block";
}

}  // namespace
}  // namespace ringscope::traces
