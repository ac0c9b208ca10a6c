// SPDX-License-Identifier: Apache-2.0
#include "traces/compare/run_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "traces/compare/parts.h"
#include "traces/core/error.h"

namespace ringscope::traces {
namespace {

/// Along the data's way through a training step.
std::tuple<std::int32_t, int, std::int32_t, int, std::string> wayOf(const TensorDifference& d) {
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
  const auto at = std::ranges::find(kOrder, d.tensor);
  const int of_kind = static_cast<int>(at - kOrder.begin());
  const std::int32_t layer = d.place.layer.value();
  const bool backward = d.place.direction == Direction::kBackward;
  const auto way = [&](int part, std::int32_t of_layer = 0) {
    return std::tuple(d.place.train_step, part, of_layer, of_kind, d.tensor);
  };
  if (d.tensor == "loss") return way(kLoss);
  if (d.tensor == "grad_norm") return way(kNorm);
  if (d.tensor.starts_with("grad.")) return way(kGradients);
  if (d.tensor.starts_with("weight.")) return way(kWeights);
  if (d.place.layer.exists())
    return backward ? way(kLayerBackward, -layer) : way(kLayerForward, layer);
  if (d.tensor == "targets" || d.tensor.starts_with("buffer.") || d.tensor == "position_ids" ||
      d.tensor == "cos" || d.tensor == "sin")
    return way(kInput);
  return way(kAfterLayers);
}

/// What has no bearing on the numbers of a run.
bool isOfRecording(const std::string& setting) {
  static constexpr std::array kOfRecording = {"capture", "verify", "cores"};
  return std::ranges::find(kOfRecording, setting) != kOfRecording.end();
}

void compareSettings(const Trace& run, const Trace& other, RunComparison& comparison) {
  if (!run.run() || !other.run()) {
    comparison.left_out.push_back("settings: one of the recordings does not say what was run");
    return;
  }
  const nlohmann::json ours = toJson(*run.run()), theirs = toJson(*other.run());
  for (const auto& [setting, value] : ours.items()) {
    if (isOfRecording(setting) || !theirs.contains(setting) || theirs.at(setting) == value)
      continue;
    std::string sentence = setting;
    sentence += ": ";
    sentence += value.dump();
    sentence += " against ";
    sentence += theirs.at(setting).dump();
    comparison.settings.push_back(std::move(sentence));
  }
}

RunComparison compareAllOf(const Trace& run, const Trace& other) {
  RunComparison comparison;
  compareSettings(run, other, comparison);
  compareInputs(run, other, comparison);
  compareLayers(run, other, comparison);
  compareNumbers(run, other, comparison);
  compareTensors(run, other, comparison);
  std::ranges::stable_sort(comparison.all, {}, wayOf);
  return comparison;
}

}  // namespace

std::int64_t RunComparison::differing() const {
  return std::ranges::count_if(all, &TensorDifference::differs);
}

const TensorDifference* RunComparison::first() const {
  const auto found = std::ranges::find_if(all, &TensorDifference::differs);
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

RunComparison compareRuns(const Trace& run, const Trace& other, const Trace* floor) {
  RunComparison comparison = compareAllOf(run, other);
  if (comparison.all.empty())
    throw inputError(
        "the two recordings have no tensor and no number at the same training step and layer; "
        "record both with values or statistics of the same steps");
  if (!floor) return comparison;
  comparison.has_floor = true;
  const RunComparison equal = compareAllOf(*floor, other);  // of the same size as those above
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
