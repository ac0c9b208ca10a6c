// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/profile/job.h"

#include <algorithm>
#include <map>

#include "traces/exchange/import/missing_ranks.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The times and the training steps that a file covers. Nothing is covered when first_ns > last_ns.
struct Covered {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = 0;
  std::int32_t first_step = std::numeric_limits<std::int32_t>::max(), last_step = 0;

  void add(std::int64_t begin_ns, std::int64_t end_ns, std::int32_t step) {
    first_ns = std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, end_ns);
    first_step = std::min(first_step, step);
    last_step = std::max(last_step, step);
  }
  void add(const ProfiledRank& rank) {
    for (const Call& call : rank.calls) add(call.posted_ns, call.end_ns, call.train_step);
    for (const Event& stage : rank.stages)
      add(stage.begin_ns, stage.end_ns, stage.place.train_step);
  }
};

Covered coveredBy(const ProfiledRank& rank) {
  Covered covered;
  covered.add(rank);
  return covered;
}

/// Reports whether `later` was profiled in the same run as `rank`, after it: its training steps and
/// times follow.
bool isNextWindow(const ProfiledRank& rank, const ProfiledRank& later) {
  if (!rank.marks_steps || !later.marks_steps || rank.world_size != later.world_size) return false;
  const Covered first = coveredBy(rank), second = coveredBy(later);
  return first.last_ns < second.first_ns && first.last_step < second.first_step;
}

void append(ProfiledRank& rank, ProfiledRank later) {
  std::vector<std::int32_t> groups;
  for (NamedGroup& group : later.groups) {
    const auto same = std::ranges::find(rank.groups, group);
    groups.push_back(static_cast<std::int32_t>(same - rank.groups.begin()));
    if (same == rank.groups.end()) rank.groups.push_back(std::move(group));
  }
  for (Call& call : later.calls) {
    if (call.group >= 0) call.group = groups[static_cast<std::size_t>(call.group)];
    rank.calls.push_back(std::move(call));
  }
  rank.stages.insert(rank.stages.end(), later.stages.begin(), later.stages.end());
  rank.file = std::move(later.file);
}

/// Makes one of the files of a rank that was profiled in several windows. The ranks are sorted by
/// rank and time.
void joinWindows(ProfiledJob& job) {
  std::vector<ProfiledRank> joined;
  std::int64_t windows = 1, of_rank = 1;
  for (ProfiledRank& rank : job.ranks) {
    const bool next = !joined.empty() && joined.back().rank == rank.rank;
    of_rank = next ? of_rank + 1 : 1;
    if (!next) {
      joined.push_back(std::move(rank));
    } else if (isNextWindow(joined.back(), rank)) {
      append(joined.back(), std::move(rank));
      windows = std::max(windows, of_rank);
    } else {
      throw inputError(joined.back().file + " and " + rank.file + " are both of rank " +
                       toString(rank.rank) +
                       ", and the steps of one do not follow those of the other; a folder holds "
                       "the files of one run");
    }
  }
  job.ranks = std::move(joined);
  if (windows > 1)
    job.lacks.push_back("ranks were profiled in up to " + std::to_string(windows) +
                        " windows, which are shown one after the other; what ran between them is "
                        "not in the files");
}

void checkTimes(const ProfiledJob& job) {
  constexpr std::int64_t kWeekNs = std::int64_t{86'400} * 7 * 1'000'000'000;
  Covered all;
  for (const ProfiledRank& rank : job.ranks) {
    if (!rank.has_times) continue;
    all.add(rank);
    if (all.last_ns > all.first_ns && all.last_ns - all.first_ns > kWeekNs)
      throw inputError(rank.file + " holds times that are more than a week apart" +
                       (job.ranks.size() > 1 ? ", or from those of the files before it" : "") +
                       "; they are not of one job");
  }
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
  std::vector<WorldRank> present;
  for (const ProfiledRank& rank : job.ranks) present.push_back(rank.rank);
  const std::string missing = describeMissingRanks(job.files, present, world_size);
  if (!missing.empty()) job.lacks.push_back(missing + ": open the folder that holds one of each");
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
  std::ranges::stable_sort(job.ranks, {}, [](const ProfiledRank& rank) {
    return std::pair(rank.rank, coveredBy(rank).first_ns);
  });
  joinWindows(job);
  const ProfiledRank& first = job.ranks.front();
  for (const ProfiledRank& rank : job.ranks) {
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
