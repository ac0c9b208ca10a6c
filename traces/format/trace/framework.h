// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/format/schema/framework.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns the framework of the recorded run: RingScope when no note names another. Returns nullopt
/// when the notes name an unknown framework or several.
std::optional<Framework> findFramework(const Trace& trace);

/// Reports whether something other than RingScope ran what was recorded. The run cannot be repeated
/// from here and has none of RingScope's options.
bool isForeign(const Trace& trace);

}  // namespace ringscope::traces
