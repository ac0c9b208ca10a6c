// SPDX-License-Identifier: Apache-2.0
// Mistakes without a rule, conceived without knowledge of the rules. The doctor must locate each,
// and must not call it by the name of another.
#include "tests/engine/unlisted_mistakes.h"

#include <gtest/gtest.h>

#include "tests/engine/unlisted_run.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/doctor/unknown_mistake.h"

namespace ringscope::engine {
namespace {

using test::Unlisted;

TrainConfig configOf(const Unlisted& mistake) {
  TrainConfig config;
  config.text = {ringscope::test::sampleText()};
  config.separator = " ";  // documents of one word each
  config.steps = 1;
  config.seq_len = 48;
  config.verify = true;
  config.capture = "full";
  mistake.prepare(config);
  return config;
}

class UnlistedTest : public testing::TestWithParam<Unlisted> {};

TEST_P(UnlistedTest, IsPlacedAndGetsNoName) {
  const Unlisted& mistake = GetParam();
  Seams seams;
  mistake.make(seams);
  const auto diagnosis = traces::diagnose(*test::recordedWith(configOf(mistake), seams));
  SCOPED_TRACE(traces::toText(diagnosis));
  const auto findings = diagnosis.findings();
  ASSERT_EQ(findings.size(), 1u);
  const traces::Finding& finding = findings.front();
  EXPECT_EQ(finding.rule, traces::kUnknownMistake);
  EXPECT_EQ(finding.place.train_step, 0);
  if (mistake.rank.exists()) {
    EXPECT_EQ(finding.rank, mistake.rank);
  }
  EXPECT_EQ(finding.place.layer, mistake.layer);
  EXPECT_EQ(finding.place.direction, mistake.direction);
  if (mistake.ring_step.exists()) {
    EXPECT_EQ(finding.place.stage, mistake.ring_step);
  }
  EXPECT_NE((finding.buffer + " " + finding.evidence).find(mistake.says), std::string::npos);
}

std::string nameFor(const testing::TestParamInfo<Unlisted>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(Forward, UnlistedTest, testing::ValuesIn(test::unlistedOfForward()),
                         nameFor);
INSTANTIATE_TEST_SUITE_P(Backward, UnlistedTest, testing::ValuesIn(test::unlistedOfBackward()),
                         nameFor);
INSTANTIATE_TEST_SUITE_P(Around, UnlistedTest, testing::ValuesIn(test::unlistedAroundAttention()),
                         nameFor);

/// The same runs without a mistake: everything found above is due to the mistake.
TEST(UnlistedRunsTest, TheRunsAreRightWithoutThem) {
  for (const auto* all :
       {&test::unlistedOfForward(), &test::unlistedOfBackward(), &test::unlistedAroundAttention()})
    for (const Unlisted& mistake : *all) {
      const auto diagnosis = traces::diagnose(*test::recordedWith(configOf(mistake), {}));
      EXPECT_TRUE(diagnosis.findings().empty()) << mistake.name << "\n"
                                                << traces::toText(diagnosis);
    }
}

}  // namespace
}  // namespace ringscope::engine
