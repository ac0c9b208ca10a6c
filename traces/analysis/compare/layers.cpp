// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/analysis/compare/logical_tensor.h"
#include "traces/analysis/compare/parts.h"
#include "traces/analysis/compare/run_layers.h"

namespace ringscope::traces {
namespace {

constexpr TensorKind kForward[] = {TensorKind::kQ, TensorKind::kK, TensorKind::kV, TensorKind::kOut,
                                   TensorKind::kLse};
constexpr TensorKind kBackward[] = {TensorKind::kDout, TensorKind::kDq, TensorKind::kDk,
                                    TensorKind::kDv};

void compareKind(const RunLayers& run, const std::vector<LayerTensors>& ours,
                 const RunLayers& other, const std::vector<LayerTensors>& theirs,
                 const LayerPass& pass, TensorKind kind, Direction direction,
                 RunComparison& comparison) {
  LogicalTensor a, b;
  const bool are_read = unlessDamaged(comparison, [&] {
    a = LogicalTensor::of(run.trace, ours, run.groups, kind);
    b = LogicalTensor::of(other.trace, theirs, other.groups, kind);
  });
  if (!are_read || a.empty() || b.empty()) return;
  TensorDifference difference = a.against(b);
  difference.place = {pass.train_step, pass.layer, direction, RingStep::none()};
  difference.tensor = name(kind);
  comparison.all.push_back(std::move(difference));
}

}  // namespace

void compareLayers(const Trace& run, const Trace& other, RunComparison& comparison,
                   const GoOn& go_on) {
  const RunLayers ours{run}, theirs{other};
  const auto known = recordedLayers(other).with_values;
  const auto passes = recordedLayers(run).with_values;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const LayerPass& pass = passes[i];
    if (!goesOn(go_on, static_cast<double>(i) / static_cast<double>(passes.size()))) return;
    // Microbatches depend on how a run is divided; only the first microbatch of each run is
    // compared.
    if (pass.microbatch != 0 || std::ranges::find(known, pass) == known.end()) continue;
    const auto a = ours.at(pass), b = theirs.at(pass);
    const std::string of_run = RunLayers::hindrance(a), of_other = RunLayers::hindrance(b);
    if (!of_run.empty() || !of_other.empty()) {
      comparison.left_out.push_back(
          "values of layer " + toString(pass.layer) + " in step " +
          std::to_string(pass.train_step) + ": in the " +
          (of_run.empty() ? "other recording " + of_other : "recording " + of_run));
      continue;
    }
    for (const TensorKind kind : kForward)
      compareKind(ours, a, theirs, b, pass, kind, Direction::kForward, comparison);
    for (const TensorKind kind : kBackward)
      compareKind(ours, a, theirs, b, pass, kind, Direction::kBackward, comparison);
  }
}

}  // namespace ringscope::traces
