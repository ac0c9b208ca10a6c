// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/limited_attention.h"

namespace ringscope::traces {

/// Returns the type in which a layer's attention was computed: that of out, or of q.
DType computedType(const LayerTensors& layer);

/// Returns the blocks in which the ranks attended a layer, by the index of its tokens. Without
/// recorded schedules each rank's keys are one block that every row merges.
MergedBlocks recordedBlocks(const Trace& trace, const LayerTensors& layer);

/// Returns the precision in which these rows of a layer's attention were computed, as far as it is
/// recorded.
Precision findPrecision(const Trace& trace, const LayerTensors& layer, const Selection& selection);

/// Reports whether a recording does not state that the engine of RingScope computed it.
bool isFromOtherProgram(const Trace& trace);

/// The factor by which limits are wider because the recording does not say how attention was
/// computed, and a sentence about it; 1 and empty: it says enough.
struct Widening {
  double factor = 1;
  std::string reason;
  bool narrow_sums = false;  ///< attention that a job wrote itself may have kept sums in 16 bits
};
Widening limitWidening(const Trace& trace, const LayerTensors& layer);

}  // namespace ringscope::traces
