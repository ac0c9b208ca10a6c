// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::traces {

/// Says which ranks of a job of `world_size` ranks have no file: "the dumps of rank 2 of 4 are
/// missing" when `files` is "dumps". Empty when all ranks are present.
std::string describeMissingRanks(const std::string& files, const std::vector<WorldRank>& present,
                                 std::int32_t world_size);

}  // namespace ringscope::traces
