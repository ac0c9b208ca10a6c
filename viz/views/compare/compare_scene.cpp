// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/compare_scene.h"

#include <algorithm>
#include <filesystem>

#include "traces/analysis/compare/report.h"
#include "traces/format/trace/steps.h"

namespace ringscope::viz {
namespace {

using traces::Cost;
using traces::CostPair;

std::string fileName(const std::string& path) {
  const std::filesystem::path file(path);
  return file.has_filename() ? file.filename().string() : file.parent_path().filename().string();
}

std::string numbersFrom(const traces::Costs& costs) {
  std::string words;
  for (const Cost cost : {Cost::kLoss, Cost::kGradNorm})
    if (costs[cost])
      words += std::string(words.empty() ? "" : " · ") + title(cost) + " " +
               describe(cost, *costs[cost]);
  return words;
}

std::vector<CostRow> costRows(const CostPair& pair) {
  std::vector<CostRow> rows;
  const auto words = [](const traces::Costs& of, Cost cost) {
    return of[cost] ? describe(cost, *of[cost]) : std::string("–");
  };
  for (std::size_t i = 0; i < traces::kValueCount<Cost>; ++i) {
    const auto cost = static_cast<Cost>(i);
    if (!pair.run[cost] && !pair.other[cost]) continue;
    rows.push_back({title(cost), words(pair.run, cost), words(pair.other, cost),
                    traces::describeRatio(pair, cost)});
  }
  return rows;
}

/// Marks the positions of the second recording that differ. The recordings do not say which is
/// wrong.
std::vector<HeldRun> heldRuns(const std::vector<traces::HeldPositions>& all, bool marks) {
  std::vector<HeldRun> runs;
  runs.reserve(all.size());
  for (const traces::HeldPositions& held : all)
    runs.push_back(
        {held.token.value(),
         held.rank,
         {held.tokens, held.position, held.position + held.tokens - 1, 0, marks && held.differs}});
  return runs;
}

}  // namespace

CompareScene makeCompareScene(const ComparedRuns& runs, bool before, std::int32_t train_step,
                              const std::set<std::string>& turned) {
  const traces::RunComparison& comparison = runs.comparison;
  CompareScene scene;
  scene.a = {"A", (before ? "after · " : "") + fileName(runs.run.path), runs.run.headline, ""};
  scene.b = {"B", (before ? "before · " : "") + fileName(runs.other.path), runs.other.headline, ""};
  scene.train_step = train_step;
  scene.conclusion = traces::concludeFrom(comparison);
  scene.verdict = comparison.verdict();
  scene.lacks_floor = comparison.count(Agreement::kUnknown) > 0 && !comparison.has_floor;
  scene.settings = traces::describeSettings(comparison);
  if (const CostPair* costs = comparison.costsAt(traces::firstPlaceIn(train_step))) {
    scene.a.numbers = numbersFrom(costs->run);
    scene.b.numbers = numbersFrom(costs->other);
    scene.costs = costRows(*costs);
  }
  const auto positions =
      std::ranges::find(comparison.positions, train_step, &traces::PositionPair::train_step);
  if (positions != comparison.positions.end()) {
    scene.positions_a = heldRuns(positions->run, false);
    scene.positions_b = heldRuns(positions->other, true);
  }
  scene.places = placeRows(comparison, train_step, turned);
  if (scene.places.empty())
    scene.no_places = "Of training step " + std::to_string(train_step) +
                      " both recordings have no tensor and no number in common.";
  scene.doctor = runs.other.doctor;
  scene.doctor_finds = runs.other.doctor_finds;
  scene.left_out = comparison.left_out;
  scene.remarks = comparison.remarks;
  return scene;
}

std::string describe(const CompareScene& scene) {
  std::string words = scene.a.name + " against " + scene.b.name;
  words += ".";
  for (const std::string& sentence : scene.conclusion) words += " " + sentence;
  return words;
}

}  // namespace ringscope::viz
