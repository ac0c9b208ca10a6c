// SPDX-License-Identifier: Apache-2.0
// Runs random jobs and compares every scene with their plans. An oracle computes the expected names
// and numbers of each sentence again, pair of tokens by pair of tokens. The same holds for the
// doctor's answers and for the words above and under the stage.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <sstream>

#include "tests/facts/compare_facts.h"
#include "tests/facts/drawing.h"
#include "tests/facts/predict_facts.h"
#include "tests/facts/rule_facts.h"
#include "tests/facts/timeline_facts.h"
#include "tests/support/campaign.h"
#include "traces/analysis/mistakes/catalogue.h"

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
  expectWholeTimeline(c, look, random);
  expectSummary(c, look);
  expectTensors(c, look, random);
  expectQueries(c, look, random);
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
  expectCurves(c);
  expectOneOfEach(c);
  expectOwnClock(c, drawnLook(c, random), random);
}

TEST(FactsTest, EverySceneSaysWhatThePlanMeans) {
  std::optional<Case> before;
  for (test::Campaign campaign(100, 20261122); campaign.next();) {
    Case c = drawnCase(campaign.random());
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    expectAllFacts(c, campaign.random());
    for (int i = 0; i < 4; ++i) expectGrowing(c, campaign.random());
    expectCompared(c, c, 0);
    if (before) expectCompared(c, *before, 0);
    before = std::move(c);
  }
}

TEST(FactsTest, ARecordingThatProcessesWroteSaysTheSame) {
  for (test::Campaign campaign(2, 20261124); campaign.next();) {
    const Case c = drawnProcesses(campaign.random());
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    expectAllFacts(c, campaign.random());
  }
}

TEST(FactsTest, AnyEventsLieOnTheTimelineWhereTheyWere) {
  for (test::Campaign campaign(60, 20261125); campaign.next();) {
    AnyEvents drawn;
    drawEvents(drawn, campaign.random());
    SCOPED_TRACE(campaign.text());
    viz::Cursor cursor;
    cursor.place.train_step = static_cast<int>(campaign.random()() % 3);
    std::vector<int> ranks(static_cast<std::size_t>(drawn.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    expectTimelineViews(drawn.trace, cursor, ranks, campaign.random());
  }
}

TEST(FactsTest, PredictionsSayWhatTheirFiguresAndThePlanMean) {
  for (test::Campaign campaign(40, 20261126); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    expectPlannedPrediction(campaign.random());
    if (campaign.number() % 4 == 0) expectSweep(campaign.random());
    if (campaign.number() % 4) continue;
    const Case c = drawnCase(campaign.random());
    SCOPED_TRACE(c.text);
    expectRecordedPrediction(c, campaign.random());
  }
}

/// The rules about mistakes that the engine can make with its sample model, or those that
/// RINGSCOPE_ONLY=ID,ID names.
std::vector<std::string> askedRules() {
  std::vector<std::string> asked;
  if (const char* only = std::getenv("RINGSCOPE_ONLY")) {
    std::stringstream ids(only);
    for (std::string id; std::getline(ids, id, ',');) asked.push_back(id);
    return asked;
  }
  asked.reserve(traces::rules().size());
  for (const auto& rule : traces::rules())
    if (traces::findMistake(rule.id)->injectable && rule.id != "softcap_dropped" &&
        rule.id != "attention_scale_dropped")
      asked.push_back(rule.id);
  return asked;
}

TEST(FactsTest, EveryRuleHasItsSentencesCompared) {
  for (const std::string& rule : askedRules())
    EXPECT_TRUE(isSentenceKnown(rule)) << "no oracle knows what " << rule << " says";
}

TEST(FactsTest, EveryFindingSaysWhatTheMistakeChanged) {
  const std::vector<std::string> mistakes = askedRules();
  for (test::Campaign campaign(static_cast<int>(mistakes.size()), 20261123); campaign.next();) {
    const Case c = drawnInjected(campaign.random(), mistakes[campaign.number() % mistakes.size()]);
    SCOPED_TRACE(campaign.text() + ": " + c.text);
    expectDoctor(c);
    expectStatus(c);
  }
}

}  // namespace
}  // namespace ringscope::facts
