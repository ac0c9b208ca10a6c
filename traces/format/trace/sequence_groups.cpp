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

GroupsByMicrobatch::GroupsByMicrobatch(const Trace& trace) : trace_(trace) {
  for (const GroupRecord& group : trace.microbatchGroups())
    if (group.axis == GroupAxis::kCp)
      for (const StepMicrobatch& at : group.microbatches)
        for (const WorldRank member : group.members) groups_.try_emplace({at, member}, &group);
}

const GroupRecord* GroupsByMicrobatch::group(WorldRank rank, std::int32_t train_step,
                                             std::optional<std::int32_t> microbatch) const {
  if (microbatch)
    if (const auto found = groups_.find({{train_step, *microbatch}, rank}); found != groups_.end())
      return found->second;
  return trace_.groupContaining(rank, GroupAxis::kCp);
}

const GroupRecord* groupWithin(const Trace& trace, const Event& event, const GroupRecord& cp) {
  const auto group = std::ranges::find(trace.groups(), event.group, &GroupRecord::id);
  if (group == trace.groups().end()) return nullptr;
  const auto shared = std::ranges::count_if(
      group->members, [&](WorldRank rank) { return std::ranges::count(cp.members, rank) > 0; });
  return shared > 1 ? &*group : nullptr;
}

const GroupRecord* groupWithinStep(const Trace& trace, const Event& event) {
  bool changes = false;
  for (const GroupRecord& group : trace.microbatchGroups()) {
    if (group.axis != GroupAxis::kCp || std::ranges::count(group.members, event.rank) == 0 ||
        std::ranges::count(group.microbatches, event.place.train_step,
                           &StepMicrobatch::train_step) == 0)
      continue;
    changes = true;
    if (const GroupRecord* within = groupWithin(trace, event, group)) return within;
  }
  const GroupRecord* of_all = trace.groupContaining(event.rank, GroupAxis::kCp);
  return !changes && of_all ? groupWithin(trace, event, *of_all) : nullptr;
}

}  // namespace ringscope::traces
