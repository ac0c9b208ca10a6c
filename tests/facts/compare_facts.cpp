// SPDX-License-Identifier: Apache-2.0
// Two recordings side by side: rows put together by the plan's owners, and costs counted one by
// one.
#include "tests/facts/compare_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <tuple>

#include "tests/facts/compared_costs.h"
#include "tests/facts/compared_map_facts.h"
#include "tests/facts/compared_rows.h"
#include "tests/facts/said.h"
#include "traces/analysis/compare/run_comparison.h"
#include "traces/format/trace/trace.h"
#include "viz/views/compare/compare_scene.h"

namespace ringscope::facts {
namespace {

using traces::RunComparison;
using traces::TensorDifference;

/// The expected comparison of two tensors, row by row.
struct Meant {
  std::int64_t rows = 0, differing = 0, unmatched = 0;
  double worst = 0;  ///< ÷ the size of all rows of the second
  std::map<RowKey, double> distances;

  Meant(const Rows& ours, const Rows& theirs) {
    double squares = 0;
    for (const auto& [key, row] : ours) {
      const auto found = theirs.find(key);
      if (found == theirs.end() || found->second.numbers.size() != row.numbers.size()) continue;
      ++rows;
      const double here = distances[key] = distance(row, found->second);
      differing += here > 0;
      worst = std::max(worst, here);
      for (const double y : found->second.numbers) squares += std::isfinite(y) ? y * y : 0;
    }
    unmatched = std::ssize(ours) + std::ssize(theirs) - 2 * rows;
    if (worst > 0) worst /= std::sqrt(squares / static_cast<double>(rows));
  }
};

void expectNear(double said, double meant) {
  EXPECT_TRUE(said == meant || std::abs(said - meant) <= 1e-9 * std::abs(meant))
      << said << " is said, meant is " << meant;
}

const TensorDifference* found(const RunComparison& comparison, const traces::Place& place,
                              const std::string& tensor) {
  const auto at = std::ranges::find_if(comparison.all, [&](const TensorDifference& d) {
    return d.place == place && d.tensor == tensor;
  });
  return at == comparison.all.end() ? nullptr : &*at;
}

/// The row that it names is as far off as the worst, and was with these ranks.
void expectWorstRow(const TensorDifference& d, const Meant& meant, const Rows& ours,
                    const Rows& theirs) {
  ASSERT_TRUE(d.at.sequence && d.at.head && d.at.token);
  const RowKey key{static_cast<int>(*d.at.sequence), static_cast<int>(*d.at.head),
                   static_cast<int>(*d.at.token)};
  ASSERT_TRUE(meant.distances.contains(key));
  double most = 0;
  for (const auto& [row, here] : meant.distances) most = std::max(most, here);
  expectNear(meant.distances.at(key), most);
  EXPECT_EQ(d.rank.value(), ours.at(key).world);
  EXPECT_EQ(d.other.value(), theirs.at(key).world);
}

/// An attention keeps its results alone.
bool isKept(const Case& c, int step, const std::string& tensor) {
  const bool kept = c.values && (c.capture == "full" || step == 0);
  return kept && (c.train || (tensor != "q" && tensor != "k" && tensor != "v" && tensor != "dout"));
}

/// Why rows are not compared is said: of one attention q, k and v are not kept.
void expectNoRows(const Case& run, const Case& other, const RunComparison& comparison, int step,
                  int layer) {
  const std::string begin = "values of layer " + std::to_string(layer) + " in step " +
                            std::to_string(step) + ": in the " +
                            (run.train ? "other recording" : "recording") +
                            " q of ranks? [^.]* "
                            "(?:is|are) not recorded; attend keeps only its results";
  EXPECT_FALSE(run.train && other.train);
  EXPECT_TRUE(std::ranges::any_of(comparison.left_out, [&](const std::string& line) {
    return std::regex_match(line, std::regex(begin));
  })) << begin;
}

void expectLayer(const Case& run, const Case& other, const RunComparison& comparison, int step,
                 int layer) {
  for (const char* tensor : {"q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv"}) {
    const std::string name = tensor;
    SCOPED_TRACE("step " + std::to_string(step) + " layer " + std::to_string(layer) + " " + name);
    const traces::Place place{
        step, traces::Layer::of(layer),
        name[0] == 'd' ? traces::Direction::kBackward : traces::Direction::kForward,
        traces::RingStep::none()};
    const Rows ours = rowsFor(run, place, name), theirs = rowsFor(other, place, name);
    EXPECT_EQ(ours.empty(), !isKept(run, step, name));
    EXPECT_EQ(theirs.empty(), !isKept(other, step, name));
    const TensorDifference* d = found(comparison, place, name);
    if (ours.empty() || theirs.empty()) continue;
    ASSERT_TRUE(d);
    if (d->by != traces::ComparedBy::kValues) {
      expectNoRows(run, other, comparison, step, layer);
      continue;
    }
    const Meant meant(ours, theirs);
    EXPECT_EQ(d->rows, meant.rows);
    EXPECT_EQ(d->differing, meant.differing);
    EXPECT_EQ(d->unmatched, meant.unmatched);
    expectNear(d->worst, meant.worst);
    if (meant.differing > 0) expectWorstRow(*d, meant, ours, theirs);
    expectMap(run, other, place, name);
  }
}

/// Along the data's way: steps, then forward through the layers, the loss, and back.
void expectOrder(const RunComparison& comparison) {
  std::vector<std::vector<int>> ways;
  for (const TensorDifference& d : comparison.all) {
    const int layer = d.place.layer.value();
    const bool backward = d.place.direction == traces::Direction::kBackward;
    const bool of_layer = d.place.layer.exists() && !d.tensor.starts_with("grad.") &&
                          !d.tensor.starts_with("weight.");
    if (of_layer) ways.push_back({d.place.train_step, backward ? 2 : 0, backward ? -layer : layer});
    if (d.tensor == "loss") ways.push_back({d.place.train_step, 1, 0});
  }
  EXPECT_TRUE(std::ranges::is_sorted(ways));
}

void expectConclusion(const viz::CompareScene& scene, const RunComparison& comparison) {
  const auto differing = std::ranges::count_if(
      comparison.all, [](const TensorDifference& d) { return d.differing > 0; });
  const std::string& head = scene.conclusion.at(0);
  if (comparison.all.empty()) {
    EXPECT_EQ(scene.verdict, viz::Agreement::kUnknown);
    return;
  }
  EXPECT_EQ(scene.verdict == viz::Agreement::kSame, differing == 0) << head;
  static const std::regex kDiffer(
      "^(≠|–|✓ Equal within rounding:) ([\\d,]+) of ([\\d,]+) comparisons? differs?\\b");
  static const std::regex kAgree("^✓ (?:All ([\\d,]+) comparisons agree|The comparison agrees) ");
  std::smatch w;
  const bool differ = std::regex_search(head, w, kDiffer);
  EXPECT_EQ(differ, differing > 0) << head;
  if (differ) {
    const viz::Agreement said = w[1] == "≠"   ? viz::Agreement::kDiffers
                                : w[1] == "–" ? viz::Agreement::kUnknown
                                              : viz::Agreement::kRounding;
    EXPECT_EQ(scene.verdict, said) << head;
    EXPECT_TRUE(saysCount(w[2], comparison.count(said))) << head;
    EXPECT_TRUE(saysCount(w[3], std::ssize(comparison.all))) << head;
    return;
  }
  ASSERT_TRUE(std::regex_search(head, w, kAgree)) << "no oracle knows this: " << head;
  EXPECT_TRUE(!w[1].matched || saysCount(w[1], std::ssize(comparison.all))) << head;
}

void expectPlaces(const viz::CompareScene& scene, const RunComparison& comparison) {
  EXPECT_EQ(scene.places.empty(), !scene.no_places.empty());
  for (const viz::PlaceRow& row : scene.places) {
    SCOPED_TRACE(row.name);
    if (row.heads) {
      std::int64_t all = 0, differing = 0;
      for (const TensorDifference& d : comparison.all) {
        if (d.place.train_step != scene.train_step || viz::tensorHead(d) != row.name) continue;
        ++all;
        differing += d.differing > 0;
      }
      std::smatch w;
      ASSERT_TRUE(std::regex_match(row.where, w, std::regex("([\\d,]+) of ([\\d,]+) differs?")));
      EXPECT_TRUE(saysCount(w[1], differing)) << row.where;
      EXPECT_TRUE(saysCount(w[2], all)) << row.where;
      continue;
    }
    const TensorDifference* d = found(comparison, row.place, row.tensor);
    ASSERT_TRUE(d);
    const bool same = row.size == "identical" || row.size == "same statistics";
    EXPECT_EQ(same, d->differing == 0) << row.size;
    if (!same && std::isfinite(d->worst) && !row.size.ends_with(" tokens")) {
      EXPECT_TRUE(saysSignificant(row.size, d->worst, 2)) << row.size;
    }
  }
}

}  // namespace

void expectCompared(const Case& run, const Case& other, int step) {
  SCOPED_TRACE("against " + other.text);
  viz::ComparedRuns runs{{"a.rscope", ""}, {"b.rscope", ""}, {}};
  runs.comparison = traces::compareRuns(*run.trace, *other.trace);
  const RunComparison& comparison = runs.comparison;
  for (int s = 0; s < std::min(run.steps, other.steps); ++s)
    for (int layer = 0; layer < std::min(run.layers, other.layers); ++layer)
      expectLayer(run, other, comparison, s, layer);
  expectOrder(comparison);
  expectSettings(run, other, comparison);
  expectCosts(run, other, comparison);
  expectLeftOut(run, other, comparison);
  const auto scene = viz::makeCompareScene(runs, false, step, {});
  expectCostRows(scene, comparison, step);
  expectConclusion(scene, comparison);
  expectPlaces(scene, comparison);
  if (&run != &other) return;
  EXPECT_EQ(scene.verdict == viz::Agreement::kSame, !comparison.all.empty());
  EXPECT_EQ(scene.settings, std::vector<std::string>{"none of those that are recorded"});
  for (const auto& row : scene.costs) EXPECT_EQ(row.a, row.b) << row.name;
}

}  // namespace ringscope::facts
