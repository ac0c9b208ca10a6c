// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// Returns a finding when a job repeated a layer's KV heads as a block, and several query heads
/// still share one of them: equal heads follow each other at a distance then. No query heads of
/// one group attend them so, whether groups follow each other or alternate.
std::optional<Finding> findTiledHeads(const Trace& trace, const LayerTensors& layer);

}  // namespace ringscope::traces
