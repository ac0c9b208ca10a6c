// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns a rank's own tokens in local order, from the recorded shard that has `queries` tokens;
/// empty when there is none. A shard of the microbatch goes before those of all microbatches.
std::vector<TokenIndex> ownTokens(const Trace& trace, std::int32_t train_step, WorldRank rank,
                                  std::int64_t queries,
                                  std::optional<std::int32_t> microbatch = {});

/// Returns the tokens that a rank attends according to its schedule, in local order, but at most
/// `most` tokens.
std::vector<TokenIndex> attendedTokens(const ScheduleRecord& schedule, std::size_t most);

}  // namespace ringscope::traces
