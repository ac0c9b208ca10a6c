// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/schema/ids.h"

namespace ringscope::traces {

/// Returns the rank that the name of a profile states, as in "rank0.json", "trace_rank_3.json" or
/// "host_pid.0.pt.trace.json"; none when it states no rank. A number without the word "rank" before
/// it counts only at the end and with at most three digits, because process ids and times are
/// longer.
WorldRank rankInName(const std::string& path);

}  // namespace ringscope::traces
