// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// What of a layer is computed within `work` multiply-adds (see checkLayer). What is left out is
/// said in `skipped`.
Selection selectRows(const LayerTensors& layer, const AttentionMask& mask, bool backward,
                     double work, std::vector<std::string>& skipped);

}  // namespace ringscope::traces
