// SPDX-License-Identifier: Apache-2.0
// Keys that several ranks attend with the same values.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

/// Returns two ranks with own queries that attend `tokens` keys with these hashes of k and v.
std::string attending(const char* tokens, const char* other_k, const char* other_v,
                      const char* largest_v = "2") {
  const std::string shape = std::string(" shape=1x2x") + tokens + "x4 hash=";
  const auto on = [&](const char* rank, const char* q, const char* k, const char* v) {
    const std::string place = std::string(" rank=") + rank + " layer=0";
    return "tensor q" + place + " shape=1x2x8x4 hash=" + q + "\ntensor k" + place + shape + k +
           "\ntensor v" + place + shape + v + " abs_max=" + largest_v + "\n";
  };
  return test::kForeign + "run cp=2\ngroup cp 0,1\n" + on("0", "1", "3", "4") +
         on("1", "2", other_k, other_v);
}

TEST(SharedKeysTest, EqualValuesWithOtherKeysAreFound) {
  const Finding finding =
      test::only(test::answerFrom("missing_position_ids", attending("16", "5", "4")));
  EXPECT_EQ(finding.confidence, Confidence::kLikely);
  EXPECT_EQ(finding.rank, WorldRank::of(1));
  EXPECT_TRUE(test::says(finding, "the same values of 16 tokens")) << finding.evidence;
}

TEST(SharedKeysTest, OtherKeysAreNoMistake) {
  const auto verdict = [](const std::string& job) {
    return test::findVerdict("missing_position_ids", job);
  };
  EXPECT_NE(verdict(attending("16", "3", "4")), Verdict::kFound) << "the same keys";
  EXPECT_NE(verdict(attending("16", "5", "6")), Verdict::kFound) << "other values too";
  EXPECT_NE(verdict(attending("8", "5", "4")), Verdict::kFound) << "no more keys than queries";
  EXPECT_NE(verdict(attending("12", "5", "4")), Verdict::kFound) << "not keys of whole shards";
  EXPECT_NE(verdict(attending("16", "5", "4", "0")), Verdict::kFound) << "values that are all 0";
}

}  // namespace
}  // namespace ringscope::traces
