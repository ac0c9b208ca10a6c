// SPDX-License-Identifier: Apache-2.0
// Verification of random runs with a mistake in their attention. A recomputation with that mistake
// reproduces the recording, and a recomputation of the intended attention does not.
#include <gtest/gtest.h>

#include "tests/engine/injected_runs.h"
#include "tests/support/campaign.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/hypotheses/hypothesis.h"
#include "traces/analysis/verify/trace_check.h"

namespace ringscope::engine {
namespace {

using test::Injected;
using test::RandomRun;

std::vector<Injected> computable() {
  std::vector<Injected> all;
  for (const Injected& injected : test::kMistakes)
    if (std::ranges::any_of(traces::hypotheses(), [&](const traces::Hypothesis& hypothesis) {
          return hypothesis.mistake == injected.mistake && !hypothesis.undescribed;
        }))
      all.push_back(injected);
  return all;
}

/// Draws a run whose layers can be recomputed: without dropout, because the dropped weights are not
/// recorded.
RandomRun runWithValues(const Injected& injected, std::mt19937& random) {
  for (;;) {
    RandomRun run = test::runFor(injected, random);
    traces::RunSpec& spec = run.attention ? static_cast<traces::RunSpec&>(run.attention->config)
                                          : static_cast<traces::RunSpec&>(run.training);
    if (spec.dropout > 0 || spec.fp8) continue;
    // With gathered blocks only the sums travel in the wrong direction, which no hypothesis covers.
    if (injected.mistake == "wrong_ring_direction" && spec.rotate == traces::Rotate::kAllGather)
      continue;
    spec.capture = "full";
    return run;
  }
}

/// Checks a layer. Returns whether it was wrong and could be explained.
bool expectReproduced(const traces::LayerCheck& layer, const std::string& mistake) {
  if (layer.worstRatio() <= 1 || !layer.hypotheses.skipped.empty()) return false;
  const auto& tried = layer.hypotheses.checks;
  const auto own = std::ranges::find(tried, mistake, &traces::HypothesisCheck::mistake);
  if (own == tried.end()) {
    ADD_FAILURE() << mistake << " was not tried";
    return true;
  }
  EXPECT_TRUE(own->reproduces()) << mistake << " is off by " << own->ratio() << ", as meant "
                                 << layer.hypotheses.meant_ratio << ", nearest "
                                 << tried.front().mistake << " " << tried.front().ratio();
  return true;
}

TEST(HypothesesTest, ComputedAgainWithItsMistakeAWrongLayerComesOut) {
  const auto all = computable();
  for (test::Campaign campaign(22, 20261123); campaign.next();) {
    const Injected& injected = all[campaign.number() % all.size()];
    test::TempDir dir;
    bool wrong = false;
    for (int draws = 0; !wrong && draws < 20; ++draws) {
      const RandomRun run = runWithValues(injected, campaign.random());
      SCOPED_TRACE(campaign.text() + ": " + injected.mistake + " " + run.text());
      const auto trace = run.record(dir.file("a.rscope"), injected.mistake);
      for (const traces::LayerCheck& layer : traces::checkTrace(*trace).layers)
        wrong |= expectReproduced(layer, injected.mistake);
    }
    EXPECT_TRUE(wrong) << injected.mistake << " changed nothing in 20 runs";
  }
}

}  // namespace
}  // namespace ringscope::engine
