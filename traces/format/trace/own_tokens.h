// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// A rank's own tokens, in local order, by the recorded shard that has `queries` of them; empty
/// when none has.
std::vector<TokenIndex> ownTokens(const Trace& trace, std::int32_t train_step, WorldRank rank,
                                  std::int64_t queries);

/// The tokens that a rank attends by its schedule, in local order, but no more than `most`.
std::vector<TokenIndex> attendedTokens(const ScheduleRecord& schedule, std::size_t most);

}  // namespace ringscope::traces
