// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "traces/format/schema/event.h"
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// Goes through all events of a recording, chunk by chunk, and keeps none: memory does not grow
/// with them. A rank's come in the order of recording, save those whose times came later, which
/// come when these are known. `take` gets a few at a time and returns false to stop. What is
/// damaged is left out; opening the recording tells of it.
void readAllEvents(ChunkSource& source, const std::function<bool(std::span<const Event>)>& take);

}  // namespace ringscope::traces
