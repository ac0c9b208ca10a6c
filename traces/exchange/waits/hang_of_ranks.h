// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/exchange/waits/who_waits.h"
#include "traces/format/trace/hang.h"

namespace ringscope::traces {

/// Reports whether ranks hang where they stand. A hang is certain when ranks posted different
/// collectives in one place, or are seen to wait for each other, for 5 s. A rank that has not come
/// makes a hang after 10 s, which is not certain: the rank could have come later.
std::optional<Hang> hangOfRanks(const std::vector<RankSeen>& ranks);

}  // namespace ringscope::traces
