// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// Returns a finding when a job repeated a layer's KV heads as a block, and several query heads
/// share each. Equal KV heads follow each other at a distance then. No grouping of query heads
/// attends them so, whether the heads of a group follow each other or alternate.
std::optional<Finding> findTiledHeads(const Trace& trace, const LayerTensors& layer);

}  // namespace ringscope::traces
