// SPDX-License-Identifier: GPL-3.0-or-later
// Whatever was run, the words that painters make of a scene's numbers are right: each page is
// painted, and every number on it must be one that the plan or the scene explains.
#include <gtest/gtest.h>

#include "tests/facts/drawing.h"
#include "tests/support/campaign.h"
#include "tests/viz/painted_facts.h"

namespace ringscope::facts {
namespace {

/// A failure says on which page it is.
template <typename Expect>
void named(const char* page, Expect expect) {
  SCOPED_TRACE(page);
  expect();
}

void expectAllPages(const Case& c, const Look& look, std::mt19937& random) {
  named("ring", [&] { expectPaintedRing(c, look, random); });
  named("now", [&] { expectPaintedNow(c, look); });
  named("coverage", [&] { expectPaintedCoverage(c, look); });
  named("timeline", [&] { expectPaintedTimeline(c, look); });
  named("inspector", [&] { expectPaintedInspector(c, look); });
  named("memory", [&] { expectPaintedMemory(c, look); });
  named("merge", [&] { expectPaintedMerge(c, look, random); });
  named("positions", [&] { expectPaintedPositions(c, look); });
  named("diff", [&] { expectPaintedDiff(c, look); });
}

TEST(PaintedFactsTest, EveryNumberOnAPageIsOneOfThePlanOrTheScene) {
  for (test::Campaign campaign(20, 20261125); campaign.next();) {
    const Case c = drawnCase(campaign.random());
    for (int i = 0; i < 3; ++i) {
      const Look look = drawnLook(c, campaign.random());
      SCOPED_TRACE(campaign.text() + ": " + c.text + ", " + describe(look));
      expectAllPages(c, look, campaign.random());
    }
  }
}

}  // namespace
}  // namespace ringscope::facts
