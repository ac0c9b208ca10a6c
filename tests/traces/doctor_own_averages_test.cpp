// SPDX-License-Identifier: Apache-2.0
// Ranks that average what becomes the loss over their own tokens alone.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/trace_builder.h"
#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"
#include "traces/format/trace/own_averages.h"

namespace ringscope::traces {
namespace {

constexpr double kSeveral = std::numeric_limits<double>::quiet_NaN();

/// Returns a job of two ranks with 16 tokens each, and one division on each.
std::string dividing(const LossQuotient& first, const LossQuotient& second) {
  nlohmann::json note = {{"0", {toJson(first)}}, {"1", {toJson(second)}}};
  return test::kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\nnote " +
         lossQuotientsKey(0) + " " + note.dump() + "\n";
}

Verdict verdictOf(const LossQuotient& first, const LossQuotient& second) {
  return test::findVerdict("mean_of_local_means", dividing(first, second));
}

TEST(OwnAveragesTest, CountsOfOwnTokensAreFoundWhenTheQuotientsWeighTheSame) {
  const Finding finding = test::only(test::answerFrom(
      "mean_of_local_means", dividing({0, 16, {5, 3}, {0.5, 0.5}}, {0, 16, {5, 6}, {0.5, 0.5}})));
  EXPECT_EQ(finding.confidence, Confidence::kLikely);
  EXPECT_TRUE(test::says(finding, "rank 0 divides by 3, and rank 1 divides by 6"))
      << finding.evidence;
}

TEST(OwnAveragesTest, OtherDivisionsAreNoMistake) {
  const LossQuotient own{0, 16, {3}, {0.5}};
  EXPECT_NE(verdictOf(own, {0, 16, {3}, {0.5}}), Verdict::kFound) << "the count of all ranks";
  EXPECT_NE(verdictOf(own, {0, 16, {6}, {1.0}}), Verdict::kFound)
      << "means that count as many tokens as they have";
  EXPECT_NE(verdictOf(own, {0, 16, {6}, {kSeveral}}), Verdict::kFound) << "several weights";
  EXPECT_NE(verdictOf(own, {1, 16, {6}, {0.5}}), Verdict::kFound) << "another microbatch";
  EXPECT_NE(verdictOf({0, 16, {16}, {0.5}}, {0, 15, {15}, {0.5}}), Verdict::kFound)
      << "shards that differ by a token";
}

TEST(OwnAveragesTest, AVariableThatEveryRankNormalisedIsFound) {
  const auto job = [](const StandardizedPart& first, const StandardizedPart& second) {
    const nlohmann::json note = {{"0", {toJson(first)}}, {"1", {toJson(second)}}};
    return test::kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\nnote " +
           standardizedPartsKey(0) + " " + note.dump() + "\n";
  };
  const Finding finding = test::only(
      test::answerFrom("mean_of_local_means", job({0, "adv", "mask", 9}, {0, "adv", "mask", 12})));
  EXPECT_EQ(finding.buffer, "adv");
  EXPECT_TRUE(test::says(finding, "over 9 tokens of rank 0, over 12 tokens of rank 1"))
      << finding.evidence;
  EXPECT_NE(test::findVerdict("mean_of_local_means", job({0, "adv", "", 9}, {0, "ret", "", 12})),
            Verdict::kFound);
}

TEST(OwnAveragesTest, PartsOfGradientsWithOneNormAreClippedByTheirOwn) {
  const auto job = [](const char* norms) {
    return test::kForeign + "run cp=2\ngroup cp 0,1\ntensor logits rank=0\nnote " +
           normsOfPartsKey(0) + " " + norms + "\n";
  };
  const Finding finding =
      test::only(test::answerFrom("clip_before_reduce", job(R"({"0":0.9999991,"1":0.9999993})")));
  EXPECT_EQ(finding.confidence, Confidence::kLikely);
  EXPECT_TRUE(test::says(finding, "have the norm 1 on every rank")) << finding.evidence;
  for (const char* other : {R"({"0":0.9999991,"1":0.9})", R"({"0":1})", R"({"0":0,"1":0})"})
    EXPECT_NE(test::findVerdict("clip_before_reduce", job(other)), Verdict::kFound) << other;
}

}  // namespace
}  // namespace ringscope::traces
