// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/attention.h"
#include "traces/analysis/verify/recompute/comparison.h"

namespace ringscope::traces {

/// Reports whether each selected head has a row of at least two keys that agrees with the compared
/// attention. A head without one may be meant to attend in another way, as a head without a sink
/// does among others with sinks.
bool agreesInEachHead(const LayerTensors& layer, const Selection& selection,
                      const AttentionMask& mask, const TensorCheck& compared);

}  // namespace ringscope::traces
