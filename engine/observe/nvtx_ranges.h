// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/event.h"

namespace ringscope::engine {

/// Opens and closes NVTX ranges of ring stages in the domain "RingScope". A range is named after
/// its event kind. Its payload is {rank, layer, direction, ring_step, peer, source_rank, bytes},
/// with −1 for missing values; `bytes` is StageSize's. Without an attached NVTX tool a range costs
/// a few nanoseconds.
void nvtxBegin(const traces::Event& event, std::int64_t bytes);
void nvtxEnd();

}  // namespace ringscope::engine
