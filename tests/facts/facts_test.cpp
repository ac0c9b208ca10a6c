// SPDX-License-Identifier: Apache-2.0
// Whatever was run, every scene says what the plan means: an oracle that asks for every pair of
// tokens computes it anew, and the names and numbers in each sentence must be its own.
#include <gtest/gtest.h>

#include "tests/facts/scene_facts.h"
#include "tests/support/campaign.h"

namespace ringscope::facts {
namespace {

Look drawnLook(const Case& c, std::mt19937& random) {
  auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  Look look;
  look.group = below(c.groups());
  look.rank = below(c.cp);
  look.step = below(c.steps);
  look.layer = below(c.layers);
  look.backward = below(2) == 1;
  look.ring_step = below(c.oracle(look.step, look.group).ringSteps());
  return look;
}

std::string describe(const Look& look) {
  return "group " + std::to_string(look.group) + " rank " + std::to_string(look.rank) + ", " +
         traces::describe(look.place());
}

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

TEST(FactsTest, EverySceneSaysWhatThePlanMeans) {
  for (test::Campaign campaign(100, 20261122); campaign.next();) {
    const Case c = drawnCase(campaign.random());
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    for (int i = 0; i < 4; ++i) {
      const Look look = drawnLook(c, campaign.random());
      SCOPED_TRACE(describe(look));
      expectAllScenes(c, look, campaign.random());
    }
    for (int i = 0; i < 4; ++i) expectGrowing(c, campaign.random());
    expectDoctor(c);
  }
}

}  // namespace
}  // namespace ringscope::facts
