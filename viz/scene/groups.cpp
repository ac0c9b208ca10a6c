// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/groups.h"

#include <algorithm>

#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/chunks.h"

namespace ringscope::viz {
namespace {

/// Every member has events: what is not recorded cannot be viewed.
bool isRecorded(const traces::Trace& trace, const std::vector<WorldRank>& members) {
  return std::ranges::all_of(members, [&](WorldRank rank) {
    return rank.exists() && rank.value() < trace.worldSize() && trace.eventCount(rank) > 0;
  });
}

Group named(std::vector<WorldRank> ranks) {
  std::string name = (ranks.size() == 1 ? "rank " : "ranks ") + listedRanks(ranks);
  return {std::move(name), std::move(ranks)};
}

}  // namespace

std::vector<Group> listGroups(const traces::Trace& trace) {
  if (trace.worldSize() == 0) return {};
  std::vector<Group> groups;
  for (auto& members : traces::sequenceGroups(trace))
    if (isRecorded(trace, members)) groups.push_back(named(std::move(members)));
  if (!groups.empty()) return groups;
  std::vector<WorldRank> all;
  all.reserve(static_cast<std::size_t>(trace.worldSize()));
  for (int rank = 0; rank < trace.worldSize(); ++rank) all.push_back(WorldRank::of(rank));
  return {named(std::move(all))};
}

bool hasWholeGroup(const traces::Trace& trace) {
  return std::ranges::any_of(trace.groups(), [&](const traces::GroupRecord& group) {
    return group.axis == traces::GroupAxis::kCp && isRecorded(trace, group.members);
  });
}

std::vector<WorldRank> groupRanks(const traces::Trace& trace, int group) {
  const auto groups = listGroups(trace);
  const auto at = static_cast<std::size_t>(group);
  return group >= 0 && at < groups.size() ? groups[at].ranks : std::vector<WorldRank>();
}

int groupWith(const traces::Trace& trace, WorldRank rank, int otherwise) {
  const auto groups = listGroups(trace);
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (std::ranges::find(groups[i].ranks, rank) != groups[i].ranks.end())
      return static_cast<int>(i);
  return otherwise;
}

}  // namespace ringscope::viz
