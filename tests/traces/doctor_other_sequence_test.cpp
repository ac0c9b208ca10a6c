// SPDX-License-Identifier: Apache-2.0
// A dp rank that attends by the mask of another dp rank's batch: either its mask or its batch may
// be wrong.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;

// -------- batches

TEST(SameBatchRuleTest, DpRanksReadOtherBatchesThanEachOther) {
  const std::string groups = "run dp=2 cp=1\ngroup dp 0,1\n";
  const auto step = [](int number, int of_0, int of_1) {
    const std::string tensor = "tensor buffer.input_ids step=" + std::to_string(number) + " rank=";
    return tensor + "0 hash=" + std::to_string(of_0) + "\n" + tensor +
           "1 hash=" + std::to_string(of_1) + "\n";
  };
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 2, 2)),
            Verdict::kFound);
  const auto often =
      answerFrom("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 2, 2) + step(2, 1, 1));
  ASSERT_EQ(often.verdict, Verdict::kFound);
  EXPECT_NE(often.findings.front().evidence.find("In each of 3 training steps, 0 to 2,"),
            std::string::npos)
      << often.findings.front().evidence;
  EXPECT_NE(often.findings.front().evidence.find("2 different batches"), std::string::npos);
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups + step(0, 1, 2)), Verdict::kClear);
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 2, 3)),
            Verdict::kNotObservable)
      << "once may be chance";
  const auto later = answerFrom("same_batch_on_dp_ranks", groups + step(0, 1, 2) + step(1, 3, 3) +
                                                              step(2, 4, 4) + step(3, 5, 6));
  ASSERT_EQ(later.verdict, Verdict::kFound) << "it began and ended while the run went on";
  EXPECT_NE(later.findings.front().evidence.find("In each of 2 training steps, 1 to 2,"),
            std::string::npos);
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups + step(0, 1, 1)), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups + step(0, 1, 1) + step(1, 1, 1)),
            Verdict::kNotObservable)
      << "there may be one batch to learn";
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups), Verdict::kNotObservable);
}

TEST(SameBatchRuleTest, BatchesDifferThoughTheFirstRankHoldsTheSameTokensOfBoth) {
  const std::string groups = "run dp=2 cp=2\ngroup dp 0,2\ngroup dp 1,3\n";
  const auto step = [](int number, int of_second) {
    std::string lines;
    for (int rank = 0; rank < 4; ++rank)
      lines += "tensor buffer.input_ids step=" + std::to_string(number) +
               " rank=" + std::to_string(rank) +
               " hash=" + std::to_string(rank % 2 ? of_second : 7) + "\n";
    return lines;
  };
  EXPECT_EQ(findVerdict("same_batch_on_dp_ranks", groups + step(0, 1) + step(1, 2)),
            Verdict::kFound);
}

// -------- masks

/// Two dp ranks of one cp rank each; the second was intended to have two documents.
constexpr const char* kTwoSequences = R"(
  run dp=2 cp=1 seq_len=4
  group cp 0
  group cp 1
  group dp 0,1
  shard input_ids rank=0 tokens=0-4
  shard input_ids rank=1 tokens=0-4
  intent ranks=0 mask=documents documents=0-4
  intent ranks=1 mask=documents documents=0-2,2-4
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-4 k=0-4 mask=causal
)";
/// The pieces of the first sequence's mask.
constexpr const char* kWithoutBorder =
    "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-4 k=0-4 mask=causal\nend\n";

TEST(OtherSequenceTest, AMaskThatIsThatOfAnotherBatchIsNotCalledWrong) {
  const RuleResult answer =
      answerFrom("documents_ignored", std::string(kTwoSequences) + kWithoutBorder);
  EXPECT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("rank 1 attends by the mask of the sequence of rank 0"),
            std::string::npos)
      << answer.would_settle;
}

TEST(OtherSequenceTest, TheSameTokensSayThatTheBatchMayBeTheWrongOne) {
  const std::string same =
      "tensor buffer.input_ids rank=0 hash=5\ntensor buffer.input_ids rank=1 hash=5\n";
  EXPECT_EQ(answerFrom("documents_ignored", kTwoSequences + same + kWithoutBorder).verdict,
            Verdict::kNotObservable);
}

TEST(OtherSequenceTest, WithOtherTokensItIsTheMaskThatIsWrong) {
  const std::string differ =
      "tensor buffer.input_ids rank=0 hash=5\ntensor buffer.input_ids rank=1 hash=6\n";
  const Finding finding =
      test::only(answerFrom("documents_ignored", kTwoSequences + differ + kWithoutBorder));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(test::says(finding, "4 (query, key) pairs")) << finding.evidence;
}

TEST(OtherSequenceTest, AMaskOfNoSequenceIsWrongForAnyTokens) {
  const std::string backwards = "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-4 k=0-4\nend\n";
  EXPECT_EQ(answerFrom("mask_dropped", kTwoSequences + backwards).verdict, Verdict::kFound);
}

}  // namespace
}  // namespace ringscope::traces
