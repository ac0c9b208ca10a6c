// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/unknown_number.h"

#include <gtest/gtest.h>

#include "tests/support/recorded_head.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/unknown_mistake.h"

namespace ringscope::traces {
namespace {

std::optional<Finding> foundIn(const std::string& text) {
  return unknownNumber(Readings(*test::makeTrace(text)));
}

/// Returns a run whose mean over all targets of two ranks is 3.
std::string loggedLoss(const std::string& loss, const std::string& intent) {
  return "run cp=2\n" + intent +
         "group cp 0,1\n"
         "tensor loss.sum rank=0 shape=1 values=6\ntensor loss.targets rank=0 shape=1 values=3\n"
         "tensor loss.sum rank=1 shape=1 values=6\ntensor loss.targets rank=1 shape=1 values=1\n"
         "note step.0 {\"loss\": " +
         loss + "}\n";
}

const std::string kMean = "intent loss=mean_over_targets\n";

TEST(UnknownNumberTest, ALossThatIsNoUsualSumIsFoundAtItsStep) {
  const auto finding = foundIn(loggedLoss("3.3", kMean));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rule, kUnknownMistake);
  EXPECT_EQ(finding->buffer, "loss");
  EXPECT_EQ(finding->place.train_step, 0);
  EXPECT_NE(finding->evidence.find("3.3"), std::string::npos) << finding->evidence;
  const Diagnosis diagnosis = diagnose(*test::makeTrace(loggedLoss("3.3", kMean) + "end\n"));
  ASSERT_EQ(diagnosis.findings().size(), 1u);
  EXPECT_FALSE(isClear(diagnosis));
}

TEST(UnknownNumberTest, IgnoresARightRoundedUndeclaredOrNamedLoss) {
  EXPECT_FALSE(foundIn(loggedLoss("3", kMean)));
  EXPECT_FALSE(foundIn(loggedLoss("3.01", kMean))) << "rounded for people";
  EXPECT_FALSE(foundIn(loggedLoss("3.3", ""))) << "nobody said that it is a mean";
  EXPECT_FALSE(foundIn(loggedLoss("4", kMean))) << "the mean of means has a name";
}

TEST(UnknownNumberTest, AGradientThatNoScaleExplainsIsFound) {
  test::Head head;
  EXPECT_FALSE(foundIn(head.text()));
  head.factors = {3, 1};
  const auto finding = foundIn(head.text());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->buffer, "grad.lm_head.weight");
  EXPECT_EQ(finding->place.train_step, 1);
  EXPECT_EQ(finding->place.direction, Direction::kBackward);
  std::string undeclared = head.text();
  const std::string intent = "intent loss=mean_over_targets\n";
  undeclared.erase(undeclared.find(intent), intent.size());
  EXPECT_FALSE(foundIn(undeclared)) << "nobody said that it is a mean";
  head.factors = {2, 2};
  EXPECT_FALSE(foundIn(head.text())) << "times cp has a name";
}

}  // namespace
}  // namespace ringscope::traces
