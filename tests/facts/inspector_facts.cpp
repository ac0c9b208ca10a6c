// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "viz/views/inspector/inspector_scene.h"

namespace ringscope::facts {
namespace {

/// A line of the inspector: what one block brought to a rank.
void expectLine(const Case& c, const Look& look, const viz::LseLine& says, int source) {
  SCOPED_TRACE("line of block " + std::to_string(source) + ": " + says.words);
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  EXPECT_EQ(says.source_rank.value(), c.worldRankFor(look.group, source));
  const int step = oracle.findStep(look.rank, source, false);
  EXPECT_EQ(says.ring_step.value(), step);
  if (!look.backward && step > look.ring_step) {
    EXPECT_EQ(says.words, "to come");
    return;
  }
  if (oracle.pairs(look.rank, source) == 0) {
    EXPECT_NE(says.words.find(briefWords(oracle.reason(look.rank, source))), std::string::npos);
    return;
  }
  if (!c.stats) {
    EXPECT_NE(says.words.find("not recorded"), std::string::npos);
    return;
  }
  if (c.mistake == "nan_from_one_rank" || !c.numbers_are_exact) return;
  const auto numbers = c.numbers(look.step, look.layer, look.group);
  const bool kept = c.capture == "full" || (c.values && look.step == 0);
  EXPECT_TRUE(says.mean.has_value() || !kept);
  if (!numbers || !says.mean) return;
  double sum = 0, rows = 0;
  for (const int query : oracle.queries(look.rank, {source}))
    for (int b = 0; b < oracle.plan().batch; ++b)
      for (int h = 0; h < oracle.headsEach(); ++h, ++rows)
        sum += attend(oracle, *numbers, b, oracle.firstHead(look.rank) + h, query,
                      oracle.attended(source))
                   .lse;
  EXPECT_NEAR(*says.mean, sum / rows, c.tolerance);
}

}  // namespace

void expectInspector(const Case& c, const Look& look) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  const viz::Cursor cursor = look.cursor(c);
  const auto ring = viz::makeRingScene(*c.trace, cursor);
  traces::WorstDiffs worst;
  worst.update(*c.trace);
  const std::optional<traces::Diagnosis> none;
  const auto scene = viz::makeInspectorScene(
      *c.trace, cursor, {ring, worst, none, std::make_shared<const viz::MemorySeries>(), false});
  std::smatch words;
  ASSERT_TRUE(std::regex_match(scene.title, words,
                               std::regex("rank (\\d+) · layer (\\d+) · (forward|backward)")));
  EXPECT_EQ(std::stoi(words[1]), c.worldRankFor(look.group, look.rank));
  EXPECT_EQ(std::stoi(words[2]), look.layer);
  EXPECT_EQ(words[3] == "backward", look.backward);
  EXPECT_EQ(scene.worst.empty(), !c.verify);
  for (const auto& line : scene.worst) EXPECT_TRUE(!line.wrong || !c.mistake.empty()) << line.words;
  ASSERT_EQ(std::ssize(scene.lse), oracle.ringSize()) << scene.lse_note;
  std::size_t at = 0;
  for (int step = 0; step < oracle.ringSteps(); ++step)
    for (const int source : oracle.sources(look.rank, step, false))
      expectLine(c, look, scene.lse[at++], source);
}

}  // namespace ringscope::facts
