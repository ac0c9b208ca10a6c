// SPDX-License-Identifier: GPL-3.0-or-later
// The words that painters make of a scene's numbers are right for any run. Each page is painted,
// and every number on it must be explained by the plan or the scene.
#include <gtest/gtest.h>

#include "tests/facts/drawing.h"
#include "tests/support/campaign.h"
#include "tests/viz/painted_facts.h"
#include "viz/session/viewing.h"

namespace ringscope::facts {
namespace {

/// Adds the name of the page to a failure.
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

/// The data that a session gives to all views for a cursor.
struct Given {
  std::string sentence, note;  // of the ring
  std::vector<int> ranks;
  viz::PositionStrip positions;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // begin and end of each training step
  std::size_t spans = 0;

  static Given by(const viz::Session& session, const viz::Cursor& cursor) {
    const auto tracks = session.tracks(cursor.place.train_step);
    const auto ring = session.ring(cursor);
    Given given{ring->sentence, ring->note, {}, *session.positions(cursor), {}, tracks->spans};
    for (const auto& rank : ring->ranks) given.ranks.push_back(rank.rank.value());
    for (const viz::StepTrack& step : tracks->steps)
      given.steps.emplace_back(step.begin_ns, step.end_ns);
    return given;
  }
  friend bool operator==(const Given&, const Given&) = default;
};

TEST(PaintedFactsTest, NoSceneOfASessionIsOfTheTraceBefore) {
  std::optional<Case> before;
  for (test::Campaign campaign(20, 20261127); campaign.next();) {
    Case c = drawnCase(campaign.random());
    if (before) {
      SCOPED_TRACE(campaign.text() + ": " + before->text + ", then " + c.text);
      for (const viz::Cursor& cursor :
           {viz::Cursor(), drawnLook(*before, campaign.random()).cursor(*before),
            drawnLook(c, campaign.random()).cursor(c)}) {
        viz::Viewing viewing, fresh;
        viewing.session.open(before->trace, "before", false);
        Given::by(viewing.session, cursor);
        viewing.session.open(c.trace, "after", false);
        fresh.session.open(c.trace, "after", false);
        EXPECT_EQ(Given::by(viewing.session, cursor), Given::by(fresh.session, cursor));
        viewing.session.grow(before->trace);
        fresh.session.open(before->trace, "before", false);
        EXPECT_EQ(Given::by(viewing.session, cursor), Given::by(fresh.session, cursor));
      }
    }
    before = std::move(c);
  }
}

}  // namespace
}  // namespace ringscope::facts
