// SPDX-License-Identifier: Apache-2.0
// The same quantity at every place that shows it: scenes, the comparison's costs, the log, SQL.
#include <algorithm>
#include <cmath>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/compare/costs.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/sql/named_queries.h"
#include "traces/analysis/sql/query.h"
#include "traces/format/trace/steps.h"
#include "viz/views/compare/run_summary_scene.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/curves/curves_scene.h"
#include "viz/views/memory/memory_scene.h"

namespace ringscope::facts {
namespace {

using traces::Cost;
using traces::WorldRank;

std::vector<std::vector<traces::Cell>> rowsFor(const Case& c, const std::string& sql) {
  std::vector<std::vector<traces::Cell>> rows;
  traces::runQuery(*c.trace, sql,
                   {[](const std::vector<std::string>&) {},
                    [&](std::span<const traces::Cell> cells) {
                      rows.emplace_back(cells.begin(), cells.end());
                      return true;
                    }});
  return rows;
}

std::int64_t whole(const traces::Cell& cell) {
  const auto* number = std::get_if<std::int64_t>(&cell);
  return number ? *number : 0;  // the sum of none is none
}

/// The last value of a curve; nothing: there is no such curve.
std::optional<double> findLast(const viz::CurvesScene& scene, const std::string& name) {
  for (const auto& curve : scene.curves)
    if (curve.name == name) return curve.values.back();
  return std::nullopt;
}

/// Memory view, named query, log, curve and comparison.
void expectOnePeak(const Case& c, const traces::CostsByPlace& costs) {
  const auto rows = rowsFor(c, traces::namedQuery("peak_memory").sql);
  const int ranks = c.groups() * c.cp;
  ASSERT_EQ(std::ssize(rows), ranks);
  const auto& last = c.trace->note("step." + std::to_string(c.steps - 1));
  std::int64_t most = 0;
  for (int world = 0; world < ranks; ++world) {
    viz::Cursor cursor;
    cursor.rank = WorldRank::of(world);
    cursor.group = world / c.cp;
    const std::int64_t peak = viz::makeMemoryScene(*c.trace, cursor).peak.bytes;
    EXPECT_GT(peak, 0);
    EXPECT_EQ(whole(rows[static_cast<std::size_t>(world)].at(1)), peak) << "rank " << world;
    if (last.is_object()) {
      EXPECT_EQ(last.at("peak_bytes").at(static_cast<std::size_t>(world)), peak) << world;
    }
    most = std::max(most, peak);
  }
  if (!last.is_object()) return;
  EXPECT_EQ(findLast(viz::makeCurvesScene(*c.trace), "peak memory"), static_cast<double>(most));
  EXPECT_EQ(costs.at(traces::firstPlaceIn(c.steps - 1))[Cost::kPeak], static_cast<double>(most));
}

/// Coverage view and comparison.
void expectOnePairs(const Case& c, const traces::CostsByPlace& costs, int step) {
  double most = 0;
  for (int group = 0; group < c.groups(); ++group) {
    Look look;
    look.step = step;
    look.group = group;
    const auto scene = viz::makeCoverageScene(*c.trace, look.cursor(c));
    most = std::max(most, *std::ranges::max_element(scene.work_total));
  }
  EXPECT_EQ(costs.at(traces::firstPlaceIn(step))[Cost::kPairs], most);
}

/// Summary, comparison and SQL.
void expectOneSent(const Case& c, const traces::CostsByPlace& costs, int step) {
  const std::int64_t sent = viz::runSummary(*c.trace, step).sent_bytes;
  EXPECT_EQ(costs.at(traces::firstPlaceIn(step))[Cost::kSent], static_cast<double>(sent));
  EXPECT_EQ(whole(rowsFor(c,
                          "SELECT sum(bytes) FROM hops WHERE begin_ns IS NOT NULL AND "
                          "train_step = " +
                              std::to_string(step))
                      .at(0)
                      .at(0)),
            sent);
}

/// Summary, curve, SQL and the summary that the command prints.
void expectOneWorst(const Case& c, int step) {
  const auto rows =
      rowsFor(c, "SELECT max(ratio), sum(ratio IS NULL) FROM diffs WHERE train_step = " +
                     std::to_string(step));
  const auto summary = viz::runSummary(*c.trace, step);
  const auto* most = std::get_if<double>(&rows.at(0).at(0));
  EXPECT_EQ(summary.worst_ratio.has_value(), c.verify);
  if (!summary.worst_ratio || !std::isfinite(*summary.worst_ratio)) return;
  ASSERT_TRUE(most);
  EXPECT_EQ(*summary.worst_ratio, *most);
  const auto curves = viz::makeCurvesScene(*c.trace);
  for (const auto& curve : curves.curves)
    if (curve.name == "worst error ÷ limit") {
      const auto at = std::ranges::find(curves.steps, step) - curves.steps.begin();
      EXPECT_EQ(curve.values.at(static_cast<std::size_t>(at)), *most);
    }
}

void expectOneSize(const Case& c) {
  const auto ranks = c.groups() * c.cp;
  EXPECT_EQ(c.trace->worldSize(), ranks);
  EXPECT_EQ(c.trace->run()->worldSize(), ranks);
  EXPECT_EQ(whole(rowsFor(c, "SELECT count(DISTINCT rank) FROM events").at(0).at(0)), ranks);
  EXPECT_EQ(whole(rowsFor(c, "SELECT count(DISTINCT train_step) FROM events").at(0).at(0)),
            c.steps);
  EXPECT_EQ(std::ssize(c.trace->trainingSteps()), c.steps);
}

}  // namespace

void expectOneOfEach(const Case& c) {
  const traces::CostsByPlace costs = traces::costsByPlace(*c.trace);
  expectOnePeak(c, costs);
  expectOneSize(c);
  for (int step = 0; step < c.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    expectOnePairs(c, costs, step);
    expectOneSent(c, costs, step);
    expectOneWorst(c, step);
  }
}

}  // namespace ringscope::facts
