// SPDX-License-Identifier: Apache-2.0
// A dp rank that attends by the mask of another dp rank's batch: its mask may be wrong, or its
// batch.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerOf;

/// Two dp ranks of one cp rank each; the second was meant to have two documents.
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
/// As the first sequence's mask has it.
constexpr const char* kWithoutBorder =
    "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-4 k=0-4 mask=causal\nend\n";

TEST(OtherSequenceTest, AMaskThatIsThatOfAnotherBatchIsNotCalledWrong) {
  const RuleResult answer =
      answerOf("documents_ignored", std::string(kTwoSequences) + kWithoutBorder);
  EXPECT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("rank 1 attends by the mask of the sequence of rank 0"),
            std::string::npos)
      << answer.would_settle;
}

TEST(OtherSequenceTest, TheSameTokensSayThatTheBatchMayBeTheWrongOne) {
  const std::string same =
      "tensor buffer.input_ids rank=0 hash=5\ntensor buffer.input_ids rank=1 hash=5\n";
  EXPECT_EQ(answerOf("documents_ignored", kTwoSequences + same + kWithoutBorder).verdict,
            Verdict::kNotObservable);
}

TEST(OtherSequenceTest, WithOtherTokensItIsTheMaskThatIsWrong) {
  const std::string differ =
      "tensor buffer.input_ids rank=0 hash=5\ntensor buffer.input_ids rank=1 hash=6\n";
  const Finding finding =
      test::only(answerOf("documents_ignored", kTwoSequences + differ + kWithoutBorder));
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(test::says(finding, "4 (query, key) pairs")) << finding.evidence;
}

TEST(OtherSequenceTest, AMaskOfNoSequenceIsWrongWhateverItsTokens) {
  const std::string backwards = "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-4 k=0-4\nend\n";
  EXPECT_EQ(answerOf("mask_dropped", kTwoSequences + backwards).verdict, Verdict::kFound);
}

}  // namespace
}  // namespace ringscope::traces
