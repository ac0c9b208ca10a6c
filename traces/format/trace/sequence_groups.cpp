// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/sequence_groups.h"

#include <algorithm>

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

std::vector<std::vector<WorldRank>> sequenceGroups(const Trace& trace,
                                                   const StepMicrobatch& microbatch) {
  std::vector<std::vector<WorldRank>> groups;
  for (const GroupRecord& group : trace.microbatchGroups())
    if (group.axis == GroupAxis::kCp && std::ranges::count(group.microbatches, microbatch) > 0)
      groups.push_back(group.members);
  return groups.empty() ? sequenceGroups(trace) : groups;
}

std::vector<std::vector<WorldRank>> allSequenceGroups(const Trace& trace) {
  std::vector<std::vector<WorldRank>> groups = sequenceGroups(trace);
  for (const GroupRecord& group : trace.microbatchGroups())
    if (group.axis == GroupAxis::kCp && std::ranges::count(groups, group.members) == 0)
      groups.push_back(group.members);
  return groups;
}

const GroupRecord* sequenceGroup(const Trace& trace, WorldRank rank,
                                 const StepMicrobatch& microbatch) {
  for (const GroupRecord& group : trace.microbatchGroups())
    if (group.axis == GroupAxis::kCp && std::ranges::count(group.microbatches, microbatch) > 0 &&
        std::ranges::count(group.members, rank) > 0)
      return &group;
  return trace.groupContaining(rank, GroupAxis::kCp);
}

const GroupRecord* groupWithin(const Trace& trace, const Event& event, const GroupRecord& cp) {
  const auto group = std::ranges::find(trace.groups(), event.group, &GroupRecord::id);
  if (group == trace.groups().end()) return nullptr;
  const auto shared = std::ranges::count_if(
      group->members, [&](WorldRank rank) { return std::ranges::count(cp.members, rank) > 0; });
  return shared > 1 ? &*group : nullptr;
}

}  // namespace ringscope::traces
