// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/event.h"

namespace ringscope::traces {

/// Returns how many kernels a GPU starts at least for one recorded event of this kind: one for each
/// matrix product and each pass over a tensor, with what can be fused in one. Plans and recordings
/// both ask here. `recompute`: backward of the feed-forward stage computes its layer again.
double stageKernels(EventKind kind, Direction direction, bool recompute);

}  // namespace ringscope::traces
