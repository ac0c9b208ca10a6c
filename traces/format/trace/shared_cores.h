// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Reports whether the ranks are virtual and take turns on fewer cores; their overlap is then an
/// effect of the scheduler. False when this is not recorded.
bool sharesCores(const Trace& trace);

/// Returns the consequence for recorded times: "As recorded: 4 virtual ranks take turns on 2 cores,
/// so waits and overlap are the scheduler's, not a cluster's."; empty when no cores are shared.
std::string sharedCoresCaveat(const Trace& trace);

}  // namespace ringscope::traces
