// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/reach.h"

#include <set>

#include "traces/format/core/prose.h"
#include "traces/format/trace/observed_model.h"

namespace ringscope::traces {

namespace {

std::string reachInSteps(const Trace& trace) {
  std::set<std::int32_t> recorded, kept;
  for (const TensorRecord& tensor : trace.tensors()) {
    recorded.insert(tensor.place.train_step);
    // Tokens, labels and positions are small, and kept by every capture.
    if (tensor.has_values && tensor.place.layer.exists()) kept.insert(tensor.place.train_step);
  }
  for (const Place& moment : trace.moments()) recorded.insert(moment.train_step);
  if (kept.empty() || kept.size() == recorded.size()) return "";
  const std::string steps = kept.size() == 1 ? "step " + std::to_string(*kept.begin()) + " alone"
                                             : std::to_string(kept.size()) + " training steps";
  return "Values of attention were kept of " + steps + ", of " +
         describeCount(static_cast<std::int64_t>(recorded.size()), "recorded training step") +
         ": a mistake of the others shows only as far as events and statistics tell.";
}

}  // namespace

std::string reachOfValues(const Trace& trace) {
  const std::string steps = reachInSteps(trace), modules = describeUnwatched(trace);
  return steps + (steps.empty() || modules.empty() ? "" : "\n") + modules;
}

}  // namespace ringscope::traces
