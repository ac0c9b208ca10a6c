// SPDX-License-Identifier: Apache-2.0
// Verification of numbers of random training steps with a mistake. A recomputation with that
// mistake reproduces them. A recomputation of the intended step or with another mistake does not.
#include <gtest/gtest.h>

#include "tests/engine/injected_runs.h"
#include "tests/support/campaign.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"
#include "traces/analysis/verify/trace_check.h"

namespace ringscope::engine {
namespace {

using test::Injected;
using test::RandomRun;

std::vector<Injected> ofSteps() {
  std::vector<Injected> all;
  for (const Injected& injected : test::kMistakes)
    if (std::ranges::any_of(traces::stepHypotheses(), [&](const auto& hypothesis) {
          return hypothesis.mistake == injected.mistake;
        }))
      all.push_back(injected);
  return all;
}

RandomRun drawn(const Injected& injected, std::mt19937& random, int most_ranks) {
  for (;;) {
    RandomRun run = RandomRun::ofTraining(random, most_ranks);
    run.training.capture = "full";
    if (injected.matters(run.spec()) && run.findRefusal(injected.mistake).empty()) return run;
  }
}

/// Checks a number. Returns whether it was wrong and its mistake could be computed. Another mistake
/// may reproduce the number only if it gives the same one.
template <typename Check>
bool expectReproduced(const char* what, const Check& check, const std::string& mistake) {
  if (!check.isWrong() || check.untried.find(mistake) != std::string::npos) return false;
  const auto& tried = check.hypotheses;
  const auto own = std::ranges::find(tried, mistake, &traces::NumberHypothesis::mistake);
  if (own == tried.end()) {
    ADD_FAILURE() << mistake << " was not tried";
    return true;
  }
  EXPECT_TRUE(own->reproduces()) << what << " of " << mistake << " is off by " << own->ratio
                                 << ", as meant by " << *check.ratio();
  for (const traces::NumberHypothesis& other : tried)
    EXPECT_TRUE(!other.reproduces() || own->gives.ratioFor(other.gives.value) <= 2)
        << what << " is what " << other.mistake << " gives, " << other.ratio;
  return true;
}

/// Checks labels. Two shifts that give the same labels both reproduce them.
bool expectReproduced(const traces::LabelCheck& check, const std::string& mistake) {
  if (!check.isWrong()) return false;
  EXPECT_TRUE(std::ranges::any_of(check.hypotheses, [&](const auto& tried) {
    return tried.mistake == mistake && tried.reproduces();
  })) << traces::toText(check);
  return true;
}

TEST(StepHypothesesTest, ComputedAgainWithItsMistakeAWrongNumberComesOut) {
  const auto all = ofSteps();
  for (test::Campaign campaign(static_cast<int>(2 * all.size()), 20261124); campaign.next();) {
    const Injected& injected = all[campaign.number() % all.size()];
    test::TempDir dir;
    bool wrong = false;
    for (int draws = 0; !wrong && draws < 20; ++draws) {
      const RandomRun run = drawn(injected, campaign.random(), 8);
      SCOPED_TRACE(campaign.text() + ": " + injected.mistake + " " + run.text());
      const auto trace = run.record(dir.file("a.rscope"), injected.mistake);
      for (std::int32_t step = 0; step < run.spec().steps; ++step) {
        const traces::StepCheck check = traces::checkStep(*trace, step);
        wrong |= expectReproduced(check.labels, injected.mistake);
        wrong |= expectReproduced("loss", check.loss, injected.mistake);
        wrong |= expectReproduced("gradient", check.gradient, injected.mistake);
        wrong |= expectReproduced("grad_norm", check.grad_norm, injected.mistake);
        if (testing::Test::HasFailure()) FAIL() << traces::toText(check);
      }
    }
    EXPECT_TRUE(wrong) << injected.mistake << " changed nothing in 20 runs";
  }
}

TEST(StepHypothesesTest, ARightStepIsRightByEachOfItsNumbers) {
  for (test::Campaign campaign(12, 20261125); campaign.next();) {
    RandomRun run = RandomRun::ofTraining(campaign.random(), 8);
    run.training.capture = "full";
    SCOPED_TRACE(campaign.text() + " " + run.text());
    test::TempDir dir;
    const auto trace = run.record(dir.file("a.rscope"));
    for (std::int32_t step = 0; step < run.spec().steps; ++step) {
      const traces::StepCheck check = traces::checkStep(*trace, step);
      EXPECT_TRUE(check.right()) << traces::toText(check);
      EXPECT_GT(check.compared(), 0) << traces::toText(check);
      campaign.largest("loss", check.loss.ratio().value_or(0));
      campaign.largest(run.spec().dtype == traces::DType::kBFloat16 ? "gradient_bf16" : "gradient",
                       check.gradient.ratio().value_or(0));
      campaign.largest("grad_norm", check.grad_norm.ratio().value_or(0));
    }
  }
}

}  // namespace
}  // namespace ringscope::engine
