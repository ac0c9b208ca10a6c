// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {

/// Returns the group of ranks that share a sequence by the keys which they attend, by rank. Each of
/// these ranks attends the same keys and values, which are those of as many shards as there are
/// ranks, with other queries. Adds the group's name to a rank that has none for these ranks.
std::map<WorldRank, std::string> groupsBySharedKeys(RecordedJob& job);

}  // namespace ringscope::traces
