// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

std::vector<std::vector<WorldRank>> sequenceGroups(const Trace& trace) {
  std::vector<std::vector<WorldRank>> groups;
  for (const GroupRecord& group : trace.groups())
    if (group.axis == GroupAxis::kCp) groups.push_back(group.members);
  if (groups.empty()) {
    groups.emplace_back();
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      groups.back().push_back(WorldRank::of(rank));
  }
  return groups;
}

}  // namespace ringscope::traces
