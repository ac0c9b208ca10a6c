// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Of how many training steps values of attention were kept, and what that means for rules that are
/// clear; empty where values were kept of all recorded steps or of none, which rules say by
/// themselves.
std::string reachOfValues(const Trace& trace);

}  // namespace ringscope::traces
