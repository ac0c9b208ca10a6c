// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/profile/job.h"

#include <algorithm>
#include <map>

#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

void checkTimes(const ProfiledJob& job) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (const ProfiledRank& rank : job.ranks) {
    if (!rank.has_times) continue;
    for (const Call& call : rank.calls) {
      first = std::min(first, call.posted_ns);
      last = std::max(last, call.end_ns);
    }
    for (const Event& stage : rank.stages) {
      first = std::min(first, stage.begin_ns);
      last = std::max(last, stage.end_ns);
    }
  }
  constexpr std::int64_t kWeekNs = std::int64_t{86'400} * 7 * 1'000'000'000;
  if (last > first && last - first > kWeekNs)
    throw inputError(
        "the files hold times that are more than a week apart; they are not of one "
        "job");
}

/// Checks that groups of one name have the same members or none in common.
void checkGroups(const ProfiledJob& job) {
  struct Seen {
    const ProfiledRank* rank;
    const NamedGroup* group;
  };
  std::map<std::string, std::vector<Seen>> by_name;
  for (const ProfiledRank& rank : job.ranks)
    for (const NamedGroup& group : rank.groups) {
      auto& seen = by_name[group.name];
      const auto same = [&](const Seen& other) { return other.group->members == group.members; };
      if (std::ranges::any_of(seen, same)) continue;
      for (const Seen& other : seen)
        if (std::ranges::find_first_of(other.group->members, group.members) !=
            other.group->members.end())
          throw inputError(other.rank->file + " and " + rank.file +
                           " have other members in the process group '" + group.name +
                           "'; they are not of one job");
      seen.push_back({&rank, &group});
    }
}

}  // namespace

void sayRanks(ProfiledJob& job) {
  const std::int32_t world_size = job.ranks.front().world_size;
  const std::int64_t missing = world_size - std::ssize(job.ranks);
  if (missing > 0)
    job.lacks.push_back("the " + job.files + " of " + std::to_string(missing) + " of " +
                        describeCount(world_size, "rank") +
                        " are missing: open the folder that holds one of each");
  if (!job.is_aligned && std::ranges::count(job.ranks, true, &ProfiledRank::has_times) > 1)
    job.lacks.emplace_back(
        "times of ranks are compared by the clocks of their machines; on several machines these "
        "may differ");
}

void requireContent(const ProfiledJob& job, const std::string& path) {
  const auto is_empty = [](const ProfiledRank& rank) {
    return rank.calls.empty() && rank.stages.empty();
  };
  if (std::ranges::all_of(job.ranks, is_empty))
    throw inputError(!job.problems.empty()
                         ? job.problems.front()
                         : path +
                               ": holds no collective, no message, and no attention, embedding, "
                               "loss or optimizer step of a PyTorch job");
}

void checkOneJob(ProfiledJob& job) {
  std::ranges::sort(job.ranks, {}, &ProfiledRank::rank);
  const ProfiledRank& first = job.ranks.front();
  for (std::size_t i = 1; i < job.ranks.size(); ++i) {
    const ProfiledRank& rank = job.ranks[i];
    if (rank.rank == job.ranks[i - 1].rank)
      throw inputError(job.ranks[i - 1].file + " and " + rank.file + " are both of rank " +
                       toString(rank.rank) + "; a folder holds one file a rank");
    if (rank.world_size != first.world_size)
      throw inputError(first.file + " is of a job of " + std::to_string(first.world_size) +
                       " ranks, and " + rank.file + " of one of " +
                       std::to_string(rank.world_size));
  }
  checkGroups(job);
  checkTimes(job);
}

std::vector<std::size_t> presentMembers(const ProfiledJob& job, const NamedGroup& group) {
  std::vector<std::size_t> present;
  for (const WorldRank member : group.members) {
    const auto at = std::ranges::lower_bound(job.ranks, member, {}, &ProfiledRank::rank);
    if (at != job.ranks.end() && at->rank == member)
      present.push_back(static_cast<std::size_t>(at - job.ranks.begin()));
  }
  return present;
}

}  // namespace ringscope::traces
