// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/run_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "traces/analysis/compare/parts.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

/// Returns the costs of all training steps and passes that both have.
std::vector<CostPair> pairsOf(const CostsByPlace& ours, const CostsByPlace& theirs) {
  std::vector<CostPair> pairs;
  for (const auto& [place, costs] : ours)
    if (const auto found = theirs.find(place); found != theirs.end())
      pairs.push_back({place, costs, found->second});
  return pairs;
}

RunComparison compareAllOf(const Trace& run, const Trace& other, const GoOn& go_on) {
  RunComparison comparison;
  compareSettings(run, other, comparison);
  compareInputs(run, other, comparison);
  constexpr double kLayers = 0.6;  // estimated share of the work
  compareLayers(run, other, comparison, partFor(go_on, 0, kLayers));
  compareNumbers(run, other, comparison);
  compareTensors(run, other, comparison, partFor(go_on, kLayers, 1));
  std::ranges::stable_sort(comparison.all, {},
                           [](const TensorDifference& d) { return findWay(d.place, d.tensor); });
  return comparison;
}

void addCosts(const Trace& run, const Trace& other, RunComparison& comparison, const GoOn& go_on) {
  constexpr double kHalf = 0.5;
  const CostsByPlace ours = costsByPlace(run, partFor(go_on, 0, kHalf)),
                     theirs = costsByPlace(other, partFor(go_on, kHalf, 1));
  comparison.costs = pairsOf(ours, theirs);
  sayWhatIsLeftOut(run, other, ours, theirs, comparison);
  remark(run, other, comparison);
}

}  // namespace

DataWay findWay(const Place& place, const std::string& tensor) {
  enum { kInput, kLayerForward, kAfterLayers, kLoss, kLayerBackward, kGradients, kNorm, kWeights };
  static constexpr std::array kOrder = {"buffer.input_ids",
                                        "buffer.labels",
                                        "buffer.position_ids",
                                        "position_ids",
                                        "targets",
                                        "q",
                                        "k",
                                        "v",
                                        "out",
                                        "lse",
                                        "dout",
                                        "dq",
                                        "dk",
                                        "dv"};
  const auto at = std::ranges::find(kOrder, tensor);
  const int of_kind = static_cast<int>(at - kOrder.begin());
  const std::int32_t layer = place.layer.value();
  const bool backward = place.direction == Direction::kBackward;
  const auto way = [&](int part, std::int32_t of_layer = 0) {
    return DataWay(place.train_step, part, of_layer, of_kind, tensor);
  };
  if (tensor == "loss") return way(kLoss);
  if (tensor == "grad_norm" || tensor == "clip_norm") return way(kNorm);
  if (tensor.starts_with("grad.")) return way(kGradients);
  if (tensor.starts_with("weight.") || tensor.starts_with("update.")) return way(kWeights);
  if (place.layer.exists())
    return backward ? way(kLayerBackward, -layer) : way(kLayerForward, layer);
  if (tensor == "targets" || tensor.starts_with("buffer.") || tensor == "position_ids" ||
      tensor == "cos" || tensor == "sin" || tensor == "rotary")
    return way(kInput);
  return way(kAfterLayers);
}

std::int64_t RunComparison::count(Agreement agreement) const {
  return std::ranges::count(all, agreement, &TensorDifference::agreement);
}

const CostPair* RunComparison::costsAt(const Place& place) const {
  const auto found = std::ranges::lower_bound(costs, place, before, &CostPair::place);
  return found != costs.end() && found->place == place ? &*found : nullptr;
}

const TensorDifference* RunComparison::first() const {
  const Agreement worst = verdict();
  if (worst < Agreement::kUnknown) return nullptr;
  const auto found = std::ranges::find(all, worst, &TensorDifference::agreement);
  return found == all.end() ? nullptr : &*found;
}

const TensorDifference* RunComparison::steepest() const {
  const TensorDifference* steepest = nullptr;
  double growth = 0, before = std::numeric_limits<double>::epsilon();
  for (const TensorDifference& difference : all) {
    const double here =
        std::isnan(difference.worst) ? std::numeric_limits<double>::infinity() : difference.worst;
    if (difference.differs() && here / before > growth) {
      growth = here / before;
      steepest = &difference;
    }
    if (std::isfinite(here)) before = std::max(before, here);
  }
  return steepest;
}

RunComparison compareRuns(const Trace& run, const Trace& other, const Trace* floor,
                          const GoOn& go_on) {
  const double values = floor ? 0.4 : 0.8;  // estimated share of the whole work
  RunComparison comparison = compareAllOf(run, other, partFor(go_on, 0, values));
  addCosts(run, other, comparison, partFor(go_on, 0.8, 1));
  if (comparison.all.empty() && comparison.costs.empty() && goesOn(go_on, 1))
    throw inputError(
        "the two recordings have no tensor, no number and no event at the same training step and "
        "layer; record both with values or statistics of the same steps");
  judge(run, other, comparison);
  if (!floor) return comparison;
  comparison.has_floor = true;
  const RunComparison equal =
      compareAllOf(*floor, other, partFor(go_on, values, 0.8));  // units as in the comparison above
  using Key = std::tuple<std::int32_t, std::int32_t, Direction, std::string>;
  const auto key = [](const TensorDifference& d) {
    return Key{d.place.train_step, d.place.layer.value(), d.place.direction, d.tensor};
  };
  std::map<Key, double> floors;
  for (const TensorDifference& d : equal.all) floors[key(d)] = d.worst;
  for (TensorDifference& d : comparison.all)
    if (const auto found = floors.find(key(d)); found != floors.end()) d.floor = found->second;
  return comparison;
}

}  // namespace ringscope::traces
