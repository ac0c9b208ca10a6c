// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// Returns the rows of a layer that can be computed within `work` multiply-adds (see checkLayer).
/// Describes the rows that are left out in `skipped`.
Selection selectRows(const LayerTensors& layer, const AttentionMask& mask, bool backward,
                     double work, std::vector<std::string>& skipped);

}  // namespace ringscope::traces
