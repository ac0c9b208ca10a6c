// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/readings.h"

namespace ringscope::traces {

/// Returns what clear rules do not speak of, a line for each kind; empty when there is nothing. It
/// names the training steps of which values of attention were kept, unless they were kept of all
/// recorded steps or of none. It names modules that were not watched, and attention that cannot be
/// judged because nothing recorded states what was meant.
std::string describeReach(const Readings& readings);

}  // namespace ringscope::traces
