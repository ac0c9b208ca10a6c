// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <vector>

#include "traces/format/schema/schedule_record.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// Returns a rank's own tokens in local order, as its schedule or else its recorded shard lists
/// them; empty when neither was recorded.
std::vector<traces::ShardRun> ownTokenRuns(const traces::Trace& trace, std::int32_t train_step,
                                           WorldRank rank);

/// Returns the token of a local row of a rank; none when the recording does not name it.
TokenIndex tokenAtRow(const traces::Trace& trace, std::int32_t train_step, WorldRank rank,
                      std::int64_t row);

/// Returns the local row of a token in a rank's own tokens; nullopt when the rank does not own it.
std::optional<std::int64_t> findTokenRow(const traces::Trace& trace, std::int32_t train_step,
                                         WorldRank rank, TokenIndex token);

}  // namespace ringscope::viz
