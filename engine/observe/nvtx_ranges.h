// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/event.h"

namespace ringscope::engine {

/// NVTX ranges of ring stages in the domain "RingScope", named after their event kind, with a typed
/// payload {rank, layer, direction, ring_step, peer, source_rank, bytes}; −1 where there is none.
/// `bytes`: what StageSize says. Costs a few nanoseconds while no NVTX tool is attached.
void nvtxBegin(const traces::Event& event, std::int64_t bytes);
void nvtxEnd();

}  // namespace ringscope::engine
