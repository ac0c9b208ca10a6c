// SPDX-License-Identifier: Apache-2.0
// Rules that infer what was meant from recorded values, where a job declares nothing.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::only;
using test::says;

const std::string kForeign = "note framework \"pytorch\"\n";

/// Returns eight tokens, 10 to 17, dealt head and tail to two ranks, and a buffer of each rank.
std::string headTailWith(const std::string& buffer, const std::string& of_0,
                         const std::string& of_1) {
  return kForeign +
         "run cp=2 seq_len=8\ngroup cp 0,1\n"
         "shard input_ids rank=0 tokens=0-2,6-8\nshard input_ids rank=1 tokens=2-6\n"
         "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,16,17\n"
         "tensor buffer.input_ids rank=1 shape=1x4 values=12,13,14,15\n"
         "tensor " +
         buffer + " rank=0 shape=1x4 values=" + of_0 + "\ntensor " + buffer +
         " rank=1 shape=1x4 values=" + of_1 + "\n";
}

TEST(CutInOrderTest, LabelsOfEqualPartsAreFoundAmongHeadTailTokens) {
  const std::string cut = headTailWith("buffer.labels", "11,12,13,14", "15,16,17,18");
  const auto wrong = answerFrom("balance_differs_between_buffers", cut);
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().buffer, "labels");
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(findVerdict("different_batches_on_cp_ranks", cut), Verdict::kNotObservable);
  for (const char* right : {"11,12,17,18", "-100,-100,17,18"})
    EXPECT_NE(findVerdict("balance_differs_between_buffers",
                          headTailWith("buffer.labels", right, "13,14,15,16")),
              Verdict::kFound);
}

TEST(CutInOrderTest, LabelsOfHeadAndTailAreFoundAmongTokensInOrder) {
  const auto answer = [](const std::string& of_0, const std::string& of_1) {
    return answerFrom("balance_differs_between_buffers",
                      kForeign +
                          "run cp=2 seq_len=8\ngroup cp 0,1\n"
                          "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
                          "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,12,13\n"
                          "tensor buffer.input_ids rank=1 shape=1x4 values=14,15,16,17\n"
                          "tensor buffer.labels rank=0 shape=1x4 values=" +
                          of_0 + "\ntensor buffer.labels rank=1 shape=1x4 values=" + of_1 + "\n");
  };
  const Finding finding = only(answer("11,12,17,-100", "13,14,15,16"));
  EXPECT_EQ(finding.buffer, "labels");
  EXPECT_TRUE(says(finding, "balance head_tail")) << finding.evidence;
  EXPECT_NE(answer("11,12,13,14", "15,16,17,-100").verdict, Verdict::kFound);
}

TEST(CutInOrderTest, PositionsOfEqualPartsAreFoundAmongHeadTailTokens) {
  const auto verdict = [](const std::string& of_0, const std::string& of_1) {
    return findVerdict("balance_differs_between_buffers", headTailWith("position_ids", of_0, of_1));
  };
  EXPECT_EQ(verdict("0,1,2,3", "4,5,6,7"), Verdict::kFound);
  EXPECT_NE(verdict("0,1,6,7", "2,3,4,5"), Verdict::kFound);
  EXPECT_NE(verdict("0,1,2,3", "0,1,2,3"), Verdict::kFound) << "they restart";
}

TEST(CompanionTest, AdvantagesOfOtherTokensAreNoMatterOfTheModelsBuffers) {
  const auto verdict = [](const char* rule, const std::string& of_0) {
    return findVerdict(rule, kForeign + "run cp=2 seq_len=8\ngroup cp 0,1\n" +
                                 "shard input_ids rank=0 tokens=0-2,6-8\n" +
                                 "shard advantages rank=0 tokens=" + of_0 + "\n");
  };
  EXPECT_EQ(verdict("companion_cut_otherwise", "0-4"), Verdict::kFound);
  EXPECT_EQ(verdict("balance_differs_between_buffers", "0-4"), Verdict::kNotObservable);
  EXPECT_EQ(verdict("companion_cut_otherwise", "0-2,6-8"), Verdict::kClear);
}

/// Returns the verdict about the targets of a second head, of tokens that are dealt in two chunks.
Verdict furtherTargets(const std::string& of_0, const std::string& of_1) {
  return findVerdict("future_tokens_rolled_in_shard",
                     kForeign + "run cp=2 seq_len=16\ngroup cp 0,1\n" +
                         "shard input_ids rank=0 tokens=0-4,12-16\n" +
                         "shard input_ids rank=1 tokens=4-12\n" +
                         "tensor buffer.labels rank=0 shape=1x8 values=1,2,3,4,13,14,15,16\n" +
                         "tensor buffer.labels rank=1 shape=1x8 values=5,6,7,8,9,10,11,12\n" +
                         "tensor labels.head.1 rank=0 shape=1x8 values=" + of_0 + "\n" +
                         "tensor labels.head.1 rank=1 shape=1x8 values=" + of_1 + "\n");
}

TEST(FurtherLabelsTest, TargetsThatAreRolledWithinShardsAreFound) {
  EXPECT_EQ(furtherTargets("2,3,4,5,14,15,16,-100", "6,7,8,9,10,11,12,13"), Verdict::kClear);
  EXPECT_EQ(furtherTargets("2,3,4,13,14,15,16,-100", "6,7,8,9,10,11,12,-100"), Verdict::kFound);
  EXPECT_EQ(furtherTargets("2,3,4,-100,14,15,16,-100", "6,7,8,9,10,11,12,-100"), Verdict::kFound);
  EXPECT_EQ(furtherTargets("7,7,7,7,7,7,7,7", "7,7,7,7,7,7,7,7"), Verdict::kNotObservable);
}

/// Returns the verdict about a sum of so many bytes in a layer of rank 0, whose queries have 64.
Verdict summed(const std::string& group, int bytes) {
  return findVerdict("wrong_process_group",
                     kForeign + "run dp=2 cp=2\ngroup dp 0,2\ngroup cp 0,1\n" +
                         "tensor q rank=0 layer=0 shape=1x1x4x2\n" + "collective rank=0 layer=0 " +
                         "group=" + group + " payload=activations bytes=" + std::to_string(bytes) +
                         "\n");
}

TEST(SummedActivationsTest, ASumOverRanksWithDifferentTokensIsFound) {
  EXPECT_EQ(summed("1", 64), Verdict::kFound);
  EXPECT_EQ(summed("0", 64), Verdict::kClear) << "ranks of other sequences";
  EXPECT_EQ(summed("1", 128), Verdict::kClear) << "a sequence that ranks fill in turn";
  EXPECT_EQ(summed("1", 8), Verdict::kClear) << "statistics";
}

/// Returns the verdict about a clipping from time 10 to 20 and a sum of gradients over a group.
Verdict clipped(const std::string& group, int sum_begins, double norm = 3) {
  return findVerdict("clip_before_reduce",
                     kForeign + "run dp=2 cp=2 max_norm=1\ngroup dp 0,2\ngroup cp 0,1\n" +
                         "note step.0 {\"step\": 0, \"grad_norm\": " + std::to_string(norm) +
                         "}\nclip rank=0 time=10-20\ncollective rank=0 group=" + group +
                         " payload=grads bytes=8 time=" + std::to_string(sum_begins) + "-90\n");
}

TEST(ClipBeforeReduceRuleTest, AClippingBeforeTheSumIsFoundByItsTime) {
  EXPECT_EQ(clipped("1", 30), Verdict::kFound);
  EXPECT_NE(clipped("1", 5), Verdict::kFound) << "the sum began before";
  EXPECT_NE(clipped("0", 30), Verdict::kFound) << "ranks of other sequences";
  EXPECT_NE(clipped("1", 30, 0.5), Verdict::kFound) << "the clipping changed nothing";
}

}  // namespace
}  // namespace ringscope::traces
