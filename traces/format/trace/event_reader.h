// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "traces/format/schema/event.h"
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// Reads all events of a recording, chunk by chunk, and keeps none, so memory does not grow with
/// them. The events of a rank come in the order of recording. An event whose times were recorded
/// later comes when they are known. The function `take` receives a few events at a time and returns
/// false to stop. Damaged chunks are left out without a message; opening the recording reports
/// them.
void readAllEvents(ChunkSource& source, const std::function<bool(std::span<const Event>)>& take);

}  // namespace ringscope::traces
