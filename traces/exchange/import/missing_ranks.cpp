// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/missing_ranks.h"

#include <algorithm>

#include "traces/exchange/waits/who_waits.h"

namespace ringscope::traces {

std::string describeMissingRanks(const std::string& files, const std::vector<WorldRank>& present,
                                 std::int32_t world_size) {
  std::vector<WorldRank> missing;
  for (std::int32_t rank = 0; rank < world_size; ++rank)
    if (std::ranges::count(present, WorldRank::of(rank)) == 0)
      missing.push_back(WorldRank::of(rank));
  if (missing.empty()) return "";
  return "the " + files + " of " + describeRanks(missing) + " of " + std::to_string(world_size) +
         " are missing";
}

}  // namespace ringscope::traces
