// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>

#include "traces/schema/event.h"

namespace ringscope::traces {

/// Goes through all events of a recording, chunk by chunk, and keeps none: memory does not grow
/// with them. A rank's come in the order of recording, save those whose times came later, which
/// come when these are known. `take` gets a few at a time and returns false to stop. What is
/// damaged is left out; opening the recording tells of it. Throws inputError when it cannot be
/// opened at all.
void readAllEvents(const std::string& path,
                   const std::function<bool(std::span<const Event>)>& take);

}  // namespace ringscope::traces
