// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/exchange/waits/who_waits.h"
#include "traces/format/trace/hang.h"

namespace ringscope::traces {

/// Returns the hang of ranks in their current positions; nullopt when there is none. A hang is
/// certain when ranks have posted different collectives in one place, or wait for each other, for 5
/// s. A missing rank makes a hang after 10 s, which is not certain because the rank could still
/// come. A wait that ended in an error needs no minimum time.
std::optional<Hang> hangOfRanks(const std::vector<RankSeen>& ranks);

}  // namespace ringscope::traces
