// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns the number of training steps of which values of attention were kept, and what that means
/// for clear rules. Empty when values were kept of all recorded steps, or of none, which rules
/// report by themselves.
std::string reachOfValues(const Trace& trace);

}  // namespace ringscope::traces
