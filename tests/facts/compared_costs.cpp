// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/compared_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/facts/said.h"
#include "traces/format/trace/trace.h"

namespace ringscope::facts {
namespace {

using traces::Cost;
using traces::Costs;
using traces::EventKind;
using traces::Place;

struct Setting {
  const char* name;
  std::string a, b;
};

/// Pairs per head that each rank attends in a forward.
std::vector<double> pairsOfRanks(const Case& c, int step) {
  std::vector<double> all;
  for (int group = 0; group < c.groups(); ++group) {
    const PlanOracle& oracle = c.oracle(step, group);
    for (int rank = 0; rank < c.cp; ++rank) {
      std::int64_t pairs = 0;
      for (int ring_step = 0; ring_step < oracle.ringSteps(); ++ring_step)
        for (const int source : oracle.sources(rank, ring_step, false))
          pairs += oracle.pairs(rank, source);
      all.push_back(static_cast<double>(pairs) / oracle.plan().ulysses);
    }
  }
  return all;
}

std::int64_t sentMeant(const Case& c, int step, bool backward) {
  std::int64_t bytes = 0;
  for (int group = 0; group < c.groups(); ++group) {
    const PlanOracle& oracle = c.oracle(step, group);
    for (int rank = 0; rank < c.cp; ++rank)
      for (int ring_step = 0; ring_step < oracle.ringSteps(); ++ring_step)
        for (const Hop& hop : oracle.hops(rank, ring_step, backward)) bytes += hop.bytes;
  }
  return bytes;
}

/// The sums over the events of a place. A place without a layer means the whole training step.
struct Counted {
  double collectives = 0, waits = 0, attends = 0;
  bool any = false, waited = false, attended = false;

  Counted(const Case& c, const Place& place) {
    for (int world = 0; world < c.groups() * c.cp; ++world)
      for (const traces::Event& e : c.trace->events(traces::WorldRank::of(world))) {
        const bool here = e.place.train_step == place.train_step &&
                          (!place.layer.exists() ||
                           (e.place.layer == place.layer && e.place.direction == place.direction));
        if (here) take(e);
      }
  }

 private:
  void take(const traces::Event& e) {
    any = true;
    if (e.kind == EventKind::kCollective) collectives += static_cast<double>(e.bytes);
    if (e.kind == EventKind::kWait) {
      waited = true;
      waits += static_cast<double>(e.end_ns - e.begin_ns);
    }
    if (e.kind != EventKind::kAttend) return;
    const auto own = static_cast<double>(e.cpu_ns);
    attended |= own > 0;
    attends += own;
  }
};

void expectPlanned(const Case& c, const Place& place, const Costs& costs) {
  ASSERT_TRUE(costs[Cost::kPairs] && costs[Cost::kBalance]);
  const std::vector<double> pairs = pairsOfRanks(c, place.train_step);
  double sum = 0, most = 0;
  for (const double of_rank : pairs) {
    sum += of_rank;
    most = std::max(most, of_rank);
  }
  EXPECT_EQ(*costs[Cost::kPairs], most);
  const double balance = most > 0 ? sum / static_cast<double>(pairs.size()) / most : 1;
  EXPECT_NEAR(*costs[Cost::kBalance], balance, 1e-12);
}

void expectCostsOf(const Case& c, const Place& place, const Costs& costs) {
  SCOPED_TRACE(traces::describe(place));
  const Counted counted(c, place);
  ASSERT_TRUE(counted.any);
  const bool backward = place.direction == traces::Direction::kBackward;
  const std::int64_t sent = place.layer.exists()
                                ? sentMeant(c, place.train_step, backward)
                                : c.layers * (sentMeant(c, place.train_step, false) +
                                              sentMeant(c, place.train_step, true));
  EXPECT_EQ(costs[Cost::kSent], static_cast<double>(sent));
  EXPECT_EQ(costs[Cost::kCollectives], counted.collectives);
  EXPECT_EQ(costs[Cost::kWait].has_value(), counted.waited);
  EXPECT_EQ(costs[Cost::kWait].value_or(0), counted.waits);
  EXPECT_EQ(costs[Cost::kAttend].has_value(), counted.attended);
  EXPECT_EQ(costs[Cost::kAttend].value_or(0), counted.attends);
  if (place.layer.exists()) return;
  expectPlanned(c, place, costs);
  const auto log = std::ranges::find(c.logged, place.train_step, &engine::StepLog::step);
  if (log == c.logged.end()) return;
  if (std::isfinite(log->loss)) {
    EXPECT_EQ(costs[Cost::kLoss], log->loss);
  }
  if (std::isfinite(log->grad_norm)) {
    EXPECT_EQ(costs[Cost::kGradNorm], log->grad_norm);
  }
  EXPECT_EQ(costs[Cost::kPeak], static_cast<double>(*std::ranges::max_element(log->peak_bytes)));
}

/// "train", "attend": a recording has been said to lack exactly this.
bool says(const std::vector<std::string>& left_out, const std::string& begin) {
  return std::ranges::any_of(left_out,
                             [&](const std::string& line) { return line.starts_with(begin); });
}

bool saysCost(const std::string& said, Cost cost, double value) {
  switch (cost) {
    case Cost::kLoss:
    case Cost::kGradNorm:
      return !std::isfinite(value) || saysSignificant(said, value, 7);
    case Cost::kPairs:
      return saysCount(said, static_cast<std::int64_t>(value));
    case Cost::kBalance:
      return saysShare(said, value);
    case Cost::kSeconds:
      return true;
    case Cost::kAttend:
    case Cost::kWait:
      return saysDuration(said, value);
    default:
      return saysBytes(said, value);
  }
}

}  // namespace

void expectSettings(const Case& run, const Case& other, const traces::RunComparison& comparison) {
  const auto quoted = [](const std::string& name) { return '"' + name + '"'; };
  const Setting settings[] = {{"dp", std::to_string(run.dp), std::to_string(other.dp)},
                              {"tp", std::to_string(run.tp), std::to_string(other.tp)},
                              {"cp", std::to_string(run.cp), std::to_string(other.cp)},
                              {"strategy", quoted(run.strategy), quoted(other.strategy)},
                              {"mask", quoted(run.mask), quoted(other.mask)}};
  for (const Setting& setting : settings) {
    const std::string begin = std::string(setting.name) + ": ";
    const std::string line = begin + setting.a + " against " + setting.b;
    EXPECT_EQ(says(comparison.settings, begin), setting.a != setting.b) << begin;
    EXPECT_EQ(std::ranges::count(comparison.settings, line), setting.a != setting.b) << line;
  }
}

void expectCosts(const Case& run, const Case& other, const traces::RunComparison& comparison) {
  std::set<std::pair<int, int>> steps, passes;
  for (const traces::CostPair& pair : comparison.costs) {
    expectCostsOf(run, pair.place, pair.run);
    expectCostsOf(other, pair.place, pair.other);
    if (pair.place.layer.exists())
      passes.insert(
          {pair.place.train_step,
           2 * pair.place.layer.value() + (pair.place.direction == traces::Direction::kBackward)});
    else
      steps.insert({pair.place.train_step, 0});
  }
  const int both = std::min(run.steps, other.steps), layers = std::min(run.layers, other.layers);
  EXPECT_EQ(std::ssize(steps), both);
  EXPECT_EQ(std::ssize(passes), both * layers * 2);
  EXPECT_EQ(comparison.costs.size(), steps.size() + passes.size()) << "no place twice";
}

void expectLeftOut(const Case& run, const Case& other, const traces::RunComparison& comparison) {
  const std::pair<const Case*, std::string> sides[] = {{&run, "the recording"},
                                                       {&other, "the other recording"}};
  for (const auto& [side, name] : sides) {
    EXPECT_EQ(
        says(comparison.left_out, "the rows of attention's tensors: " + name + " keeps no values"),
        !side->values)
        << name;
    EXPECT_EQ(says(comparison.left_out, "position ids by token: " + name + " keeps no values"),
              side->train && !side->stats)
        << name;
    for (const char* what : {"position ids by token: ", "peak memory: "})
      EXPECT_EQ(says(comparison.left_out, what + name + " is of one attention"), !side->train)
          << what << name;
    EXPECT_FALSE(says(comparison.left_out, "peak memory: " + name + " has not")) << name;
    EXPECT_FALSE(says(comparison.left_out, "balance: " + name)) << name;
  }
  const bool same_steps = run.steps == other.steps;
  EXPECT_EQ(says(comparison.left_out, "training step "), !same_steps);
  if (same_steps) return;
  const std::string which = run.steps > other.steps ? "the other recording" : "the recording";
  EXPECT_TRUE(says(comparison.left_out, "training step 1: " + which + " does not have it"));
}

void expectCostRows(const viz::CompareScene& scene, const traces::RunComparison& comparison,
                    int step) {
  const auto pair = std::ranges::find_if(comparison.costs, [&](const traces::CostPair& p) {
    return p.place.train_step == step && !p.place.layer.exists();
  });
  if (pair == comparison.costs.end()) {
    EXPECT_TRUE(scene.costs.empty());
    return;
  }
  std::size_t row = 0;
  for (std::size_t i = 0; i < traces::kValueCount<Cost>; ++i) {
    const auto cost = static_cast<Cost>(i);
    const auto &a = pair->run[cost], &b = pair->other[cost];
    if (!a && !b) continue;
    ASSERT_LT(row, scene.costs.size());
    const viz::CostRow& said = scene.costs[row++];
    SCOPED_TRACE(said.name);
    EXPECT_EQ(said.name, traces::title(cost));
    EXPECT_TRUE(a ? saysCost(said.a, cost, *a) : said.a == "–") << said.a;
    EXPECT_TRUE(b ? saysCost(said.b, cost, *b) : said.b == "–") << said.b;
    if (said.ratio.empty()) continue;
    ASSERT_TRUE(a && b && said.ratio.ends_with("×"));
    EXPECT_TRUE(saysSignificant(said.ratio.substr(0, said.ratio.size() - 2), *a / *b, 3))
        << said.ratio;
  }
  EXPECT_EQ(row, scene.costs.size());
}

}  // namespace ringscope::facts
