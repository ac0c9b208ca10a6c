// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// Returns the rows of a layer that can be computed within `work` multiply-adds (see checkLayer).
/// Describes the rows that are left out in `skipped`.
Selection selectRows(const LayerTensors& layer, const AttentionMask& mask, bool backward,
                     double work, std::vector<std::string>& skipped);

/// Returns the place among the layer's tokens of a row of [groups, heads of a group, rows].
inline std::size_t tokenIndex(const Selection& selection, std::size_t row) {
  return selection.rows[row % selection.rows.size()];
}

/// Returns the head of the layer of such a row.
inline std::size_t headIndex(const LayerTensors& layer, const Selection& selection,
                             std::size_t row) {
  const auto heads = static_cast<std::size_t>(layer.groupSize());
  const std::size_t unit = row / selection.rows.size();
  return static_cast<std::size_t>(selection.groups[unit / heads].kv_head) * heads + unit % heads;
}

}  // namespace ringscope::traces
