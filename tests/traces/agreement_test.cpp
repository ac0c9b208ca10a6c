// SPDX-License-Identifier: Apache-2.0
// The differences that a comparison of two recordings attributes to rounding, and the record that
// decides it.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "traces/analysis/compare/report.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

/// One step of one layer. `loss` is the logged loss, `out` the second token's out, and `settings`
/// those of the run.
struct OneStep {
  std::string settings, loss = "2", out = "2", diffs;
  std::string text() const {
    std::string text =
        "run cp=1 seq_len=2 " + settings +
        "\ngroup cp 0\nshard q rank=0 dim=2 tokens=0-2\nnote step.0 {\"loss\": " + loss + "}\n";
    for (const char* tensor : {"q", "k", "v"})
      text += std::string("tensor ") + tensor + " rank=0 layer=0 shape=1x1x2x1 values=1,2\n";
    return text + "tensor out rank=0 layer=0 shape=1x1x2x1 values=1," + out + "\n" + diffs;
  }
};

constexpr const char* kWithin =
    "diff out layer=0 ratio=0.5\ndiff loss isolated=no limit=0.001 ratio=0.4\n";

RunComparison comparedSteps(const OneStep& run, const OneStep& other) {
  return compareRuns(*makeTrace(run.text()), *makeTrace(other.text()));
}

Agreement agreementOf(const RunComparison& comparison, const std::string& tensor) {
  for (const TensorDifference& d : comparison.all)
    if (d.tensor == tensor) return d.agreement();
  ADD_FAILURE() << tensor << " is not comparedSteps";
  return Agreement::kCount;
}

TEST(AgreementTest, TensorsThatVerificationComputedAreNotCompared) {
  const auto map = [](const char* value) {
    std::string text;
    for (const char* unit : {"abs", "rel", "ulp"})
      text += std::string("tensor error.") + unit +
              ".out rank=0 layer=0 shape=1x1x2x1 abs_max=" + value + " hash=" + value + "\n";
    return OneStep{.diffs = text};
  };
  const auto both = comparedSteps(map("3"), map("5"));
  EXPECT_EQ(both.verdict(), Agreement::kSame) << toText(both);
  EXPECT_EQ(toText(both).find("error."), std::string::npos) << toText(both);
}

TEST(AgreementTest, TwoVerifiedRunsWithinTheirLimitsAreEqualWithinRounding) {
  const auto both = comparedSteps(
      {.settings = "balance=none", .diffs = kWithin},
      {.settings = "balance=head_tail", .loss = "2.0015", .out = "2.00001", .diffs = kWithin});
  EXPECT_EQ(both.verdict(), Agreement::kRounding) << toText(both);
  EXPECT_EQ(both.first(), nullptr);
  const std::string said = concludeFrom(both).front();
  EXPECT_TRUE(said.starts_with("✓ Equal within rounding: 2 of 5 comparisons differ")) << said;
  EXPECT_EQ(toJson(both)["verdict"], "within_rounding");
  EXPECT_EQ(toJson(both)["differing"], 0);
}

TEST(AgreementTest, WithoutVerificationRoundingIsNotJudged) {
  for (const char* diffs : {"", kWithin}) {
    const auto both = comparedSteps({}, {.out = "2.5", .diffs = diffs});
    EXPECT_EQ(both.verdict(), Agreement::kUnknown);
    EXPECT_EQ(toJson(both)["verdict"], "not_judged");
    const auto lines = concludeFrom(both);
    EXPECT_TRUE(lines.front().starts_with("– 1 of 5 comparisons differs, and whether"))
        << lines.front();
    EXPECT_NE(lines.back().find("Record both with --verify, or name a second recording of the "
                                "other run with --floor RUN3"),
              std::string::npos)
        << lines.back();
    EXPECT_EQ(toText(both).find("≠"), std::string::npos) << toText(both);
  }
}

TEST(AgreementTest, ALossBeyondBothLimitsTogetherDiffers) {
  const auto both = comparedSteps({.diffs = kWithin}, {.loss = "2.0025", .diffs = kWithin});
  EXPECT_EQ(agreementOf(both, "loss"), Agreement::kDiffers);
  EXPECT_NE(both.unjudged.find("more than both limits together"), std::string::npos);
}

TEST(AgreementTest, TensorsAfterOneBeyondItsLimitDiffer) {
  const auto both = comparedSteps(
      {.diffs = "diff out layer=0 ratio=30\ndiff loss isolated=no limit=0.001 ratio=2\n"},
      {.loss = "2.5", .out = "2.5", .diffs = kWithin});
  EXPECT_EQ(agreementOf(both, "q"), Agreement::kSame);
  EXPECT_EQ(agreementOf(both, "out"), Agreement::kDiffers);
  EXPECT_EQ(agreementOf(both, "loss"), Agreement::kDiffers);
  ASSERT_NE(both.first(), nullptr);
  EXPECT_EQ(both.first()->tensor, "out");
}

TEST(AgreementTest, ASettingThatChangesTheResultsIsNotRounding) {
  for (const char* setting : {"lr=0.5", "mask=full", "dtype=bfloat16", "seed=4"}) {
    const auto both = comparedSteps({.diffs = kWithin},
                                    {.settings = setting, .out = "2.00001", .diffs = kWithin});
    EXPECT_EQ(both.verdict(), Agreement::kUnknown) << setting;
    EXPECT_NE(both.unjudged.find("changes the results"), std::string::npos) << both.unjudged;
  }
}

TEST(AgreementTest, PositionIdsHaveNoRounding) {
  const auto of = [](const char* ids) {
    return OneStep{.diffs = std::string(kWithin) +
                            "shard input_ids rank=0 tokens=0-2\n"
                            "tensor position_ids rank=0 shape=1x2 values=" +
                            ids + "\n"};
  };
  const auto both = comparedSteps(of("0,1"), of("0,0"));
  EXPECT_EQ(both.verdict(), Agreement::kDiffers) << toText(both);
}

}  // namespace
}  // namespace ringscope::traces
