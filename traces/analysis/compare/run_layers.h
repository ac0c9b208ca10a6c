// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

/// The layers of one recording, each over all groups of ranks that share sequences.
struct RunLayers {
  const Trace& trace;
  std::vector<std::vector<WorldRank>> groups = sequenceGroups(trace);

  std::vector<LayerTensors> at(const LayerPass& pass) const {
    std::vector<LayerTensors> layers;
    layers.reserve(groups.size());
    for (const auto& members : groups) layers.push_back(findLayer(trace, pass, members));
    return layers;
  }
  /// Returns the first reason why a layer cannot be put together; empty when there is none.
  static std::string hindrance(const std::vector<LayerTensors>& layers) {
    for (const LayerTensors& layer : layers)
      if (!layer.blocking.empty()) return layer.blocking.front();
    return "";
  }
};

}  // namespace ringscope::traces
