// SPDX-License-Identifier: Apache-2.0
// Whatever was run, every scene says what the plan means: an oracle that asks for every pair of
// tokens computes it anew, and the names and numbers in each sentence must be its own. So must the
// doctor's answers and the words above and under the stage.
#include <gtest/gtest.h>

#include "tests/facts/drawing.h"
#include "tests/facts/scene_facts.h"
#include "tests/support/campaign.h"

namespace ringscope::facts {
namespace {

void expectAllScenes(const Case& c, const Look& look, std::mt19937& random) {
  expectRing(c, look);
  expectCoverage(c, look);
  expectMerge(c, look, random);
  expectInspector(c, look);
  expectPositions(c, look);
  expectMemory(c, look);
  expectDiff(c, look);
  expectTimeline(c, look);
  expectSummary(c, look);
  expectTensors(c, look, random);
  expectErrorMaps(c, look);
  expectAxis(c, look);
  expectInstant(c, look, random);
}

void expectAllFacts(const Case& c, std::mt19937& random) {
  for (int i = 0; i < 4; ++i) {
    const Look look = drawnLook(c, random);
    SCOPED_TRACE(describe(look));
    expectAllScenes(c, look, random);
  }
  expectDoctor(c);
  expectStatus(c);
  expectGroups(c);
}

TEST(FactsTest, EverySceneSaysWhatThePlanMeans) {
  for (test::Campaign campaign(100, 20261122); campaign.next();) {
    const Case c = drawnCase(campaign.random());
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    expectAllFacts(c, campaign.random());
    for (int i = 0; i < 4; ++i) expectGrowing(c, campaign.random());
  }
}

TEST(FactsTest, ARecordingThatProcessesWroteSaysTheSame) {
  for (test::Campaign campaign(2, 20261124); campaign.next();) {
    const Case c = drawnProcesses(campaign.random());
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    expectAllFacts(c, campaign.random());
  }
}

TEST(FactsTest, EveryFindingSaysWhatTheMistakeChanged) {
  const std::vector<std::string> mistakes = {"shift_labels_per_shard",
                                             "labels_shifted_twice",
                                             "different_batches_on_cp_ranks",
                                             "same_batch_on_dp_ranks",
                                             "balance_differs_between_buffers",
                                             "unbalanced_unshard",
                                             "positions_not_reset_per_document",
                                             "missing_rope_buffer",
                                             "balance_without_causal",
                                             "rank_without_targets",
                                             "mean_of_local_means",
                                             "loss_scaled_by_cp",
                                             "metric_not_reduced",
                                             "missing_cp_grad_reduce"};
  for (test::Campaign campaign(28, 20261123); campaign.next();) {
    const Case c = drawnInjected(campaign.random(), mistakes[campaign.number() % mistakes.size()]);
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    expectDoctor(c);
    expectStatus(c);
  }
}

}  // namespace
}  // namespace ringscope::facts
