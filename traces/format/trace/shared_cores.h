// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Its ranks are virtual and take turns on fewer cores: their overlap is the scheduler's. False
/// where it is not recorded.
bool sharesCores(const Trace& trace);

/// What follows from that for recorded times: "As recorded: 4 virtual ranks take turns on 2 cores,
/// so waits and overlap are the scheduler's, not a cluster's."; empty where they do not.
std::string sharedCoresCaveat(const Trace& trace);

}  // namespace ringscope::traces
