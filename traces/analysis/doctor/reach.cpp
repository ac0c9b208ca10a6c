// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/reach.h"

#include <set>

#include "traces/analysis/verify/layer_check.h"
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

/// Returns a sentence about attention of an imported job that cannot be judged, because nothing
/// recorded states what was meant.
std::string reachInLayers(const Readings& readings) {
  std::int64_t count = 0;
  const LayerCheck* first = nullptr;
  for (const LayerCheck& layer : readings.layers()) {
    if (layer.fits != AttentionFits::kNothing || layer.fits_words.empty()) continue;
    if (count++ == 0) first = &layer;
  }
  if (!first) return "";
  const Place place{first->pass.train_step, first->pass.layer, Direction::kForward, {}};
  return "Attention of " + describeCount(count, "layer") + " is not judged, first in " +
         describe(place) + ": " + first->fits_words + ".";
}

}  // namespace

std::string describeReach(const Readings& readings) {
  std::string text;
  for (const std::string& part : {reachInSteps(readings.trace()),
                                  describeUnwatched(readings.trace()), reachInLayers(readings)})
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  return text;
}

}  // namespace ringscope::traces
