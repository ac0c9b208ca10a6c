// SPDX-License-Identifier: Apache-2.0
// Attended pairs of jobs whose ranks share sequences within other groups in each microbatch.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::findVerdict;
using test::foundAlone;
using test::says;

constexpr const char* kRules[] = {"ring_bypassed", "no_skip_future_block", "causal_on_every_block",
                                  "mask_dropped",  "documents_ignored",    "kv_not_rotated"};

/// A job whose ranks share a sequence in the first microbatch, in the order 1, 0 in the second, and
/// none in the third.
constexpr const char* kChangingGroups = R"(
  run command=import dp=2 seq_len=4
  group cp 0,1 microbatch=0
  group cp 1,0 microbatch=1
  group cp 0 microbatch=2
  group cp 1 microbatch=2
  shard input_ids rank=0 tokens=0-2 microbatch=0
  shard input_ids rank=1 tokens=2-4 microbatch=0
  shard input_ids rank=0 tokens=2-4 microbatch=1
  shard input_ids rank=1 tokens=0-2 microbatch=1
  shard input_ids rank=0 tokens=0-2 microbatch=2
  shard input_ids rank=1 tokens=0-2 microbatch=2
  intent mask=causal
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal
  attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-2 k=0-2
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal microbatch=1
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal microbatch=1
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2 k=0-2 mask=causal microbatch=2
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-2 k=0-2 mask=causal microbatch=2
)";
constexpr const char* kSecondMicrobatch =
    "attend layer=0 stage=1 piece=0 q=0-2 k=0-2 microbatch=1 ";

TEST(CoverageRulesTest, EachMicrobatchHasItsOwnGroupsAndTokens) {
  const std::string right =
      std::string(kChangingGroups) + kSecondMicrobatch + "rank=0 source=1\nend\n";
  EXPECT_EQ(findVerdict("no_skip_future_block", right), Verdict::kClear);
  EXPECT_EQ(findVerdict("ring_bypassed", right), Verdict::kClear);
  const std::string wrong = std::string(kChangingGroups) + kSecondMicrobatch + "rank=0 source=1\n" +
                            kSecondMicrobatch + "rank=1 source=0\nend\n";
  const Finding finding = foundAlone(kRules, "no_skip_future_block", wrong);
  EXPECT_TRUE(says(finding, "1 of 2 ranks does so in microbatch 1.")) << finding.evidence;
}

TEST(CoverageRulesTest, AMicrobatchWhoseGroupIsUnknownIsNotJudged) {
  std::string text = std::string(kChangingGroups) + kSecondMicrobatch + "rank=0 source=1\nend\n";
  const std::string group = "group cp 1,0 microbatch=1";
  text.erase(text.find(group), group.size());
  for (const char* shard : {"shard input_ids rank=0 tokens=2-4 microbatch=1",
                            "shard input_ids rank=1 tokens=0-2 microbatch=1"})
    text.erase(text.find(shard), std::string(shard).size());
  EXPECT_EQ(findVerdict("no_skip_future_block", text), Verdict::kNotObservable);
}

TEST(ProcessGroupRuleTest, AHopStaysWithinTheGroupOfItsMicrobatch) {
  const auto hop = [](int microbatch) {
    return std::string(kChangingGroups) + "send rank=0 peer=1 payload=kv flow=7 layer=0 stage=0 " +
           "microbatch=" + std::to_string(microbatch) + "\nend\n";
  };
  EXPECT_EQ(findVerdict("wrong_process_group", hop(0)), Verdict::kClear);
  EXPECT_EQ(findVerdict("wrong_process_group", hop(1)), Verdict::kClear);
  EXPECT_EQ(findVerdict("wrong_process_group", hop(2)), Verdict::kFound)
      << "in the third microbatch the rank shares its sequence with nobody";
}

TEST(ProcessGroupRuleTest, ARuleOfWholeStepsSaysThatGroupsChange) {
  const RuleResult answer =
      test::answerFrom("balance_without_causal", std::string(kChangingGroups) + "end\n");
  EXPECT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("change from microbatch to microbatch"), std::string::npos)
      << answer.would_settle;
}

}  // namespace
}  // namespace ringscope::traces
