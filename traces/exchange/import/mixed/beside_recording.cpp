// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/mixed/beside_recording.h"

#include <algorithm>
#include <map>
#include <span>

#include "traces/exchange/import/mixed/group_names.h"
#include "traces/exchange/import/mixed/recorded_ranks.h"
#include "traces/exchange/waits/who_waits.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

std::vector<WorldRank> ranksIn(const ProfiledJob& job) {
  std::vector<WorldRank> ranks;
  for (const ProfiledRank& rank : job.ranks) ranks.push_back(rank.rank);
  return ranks;
}

/// Returns the wall clock at which the run clock of a recorded job is 0.
std::int64_t startNs(const RecordedJob& job) {
  const auto first = std::ranges::min_element(job.shifts);
  return job.ranks[static_cast<std::size_t>(first - job.shifts.begin())].unix_ns;
}

/// The groups of another tool as groups of a recorded job.
class SharedGroups {
 public:
  SharedGroups(RecordedJob& job, const Trace& other) {
    for (const auto* groups : {&job.groups, &job.microbatch_groups})
      for (const GroupRecord& group : *groups)
        next_ = std::max<std::int64_t>(next_, group.id.value() + 1);
    for (const GroupRecord& group : other.groups()) {
      const auto same = std::ranges::find(job.groups, group.members, &GroupRecord::members);
      ids_[group.id] = same != job.groups.end() ? same->id : GroupId::of(next_++);
      if (same == job.groups.end())
        job.groups.push_back({ids_[group.id], GroupAxis::kOther, group.members});
    }
  }

  GroupId idFor(GroupId id) const {
    const auto found = ids_.find(id);
    return found == ids_.end() ? GroupId::none() : found->second;
  }

 private:
  std::int64_t next_ = 0;
  std::map<GroupId, GroupId> ids_;
};

/// Returns the number of the ranks' calls that are matched.
std::int64_t countMatched(std::span<const ProfiledRank> ranks) {
  std::int64_t count = 0;
  for (const ProfiledRank& rank : ranks)
    count += std::ranges::count_if(rank.calls, [](const Call& call) { return call.flow != 0; });
  return count;
}

/// Aligns the clocks of the other tool's ranks with that of the recording.
void alignWith(RecordedJob& job, ProfiledJob& other) {
  ProfiledJob both;
  both.ranks = recordedRanks(job, startNs(job));
  if (other.infers_world_size) setWorldSize(other, job.ranks.front().world_size);
  if (other.infers_members) takeMembers(both, other);
  renameGroups(other, both);
  const std::vector<WorldRank> fixed = ranksIn(both);
  std::map<WorldRank, ProfiledRank> unaligned;
  for (ProfiledRank& rank : other.ranks) {
    both.ranks.push_back(rank);
    for (Call& call : both.ranks.back().calls) call.sequence = -1;  // the recorder has none
    unaligned[rank.rank] = std::move(rank);
  }
  std::ranges::sort(both.ranks, {}, &ProfiledRank::rank);
  tellGroups(both);
  Matched matched;
  matchCollectives(both, matched);
  matchMessages(both, matched);
  both.lacks.clear();
  alignClocks(both, fixed);
  placeUntimed(both, startNs(job));
  std::erase_if(both.ranks,
                [&](const ProfiledRank& rank) { return std::ranges::count(fixed, rank.rank) > 0; });
  job.lacks.insert(job.lacks.end(), both.lacks.begin(), both.lacks.end());
  job.lacks.push_back(describeCount(countMatched(both.ranks), "call") +
                      " of these ranks match calls of other ranks");
  for (ProfiledRank& rank : both.ranks) {
    const std::vector<Call>& before = unaligned[rank.rank].calls;
    for (std::size_t i = 0; i < rank.calls.size(); ++i) {
      rank.calls[i].flow = 0;
      rank.calls[i].sequence = before[i].sequence;
    }
  }
  other.ranks = std::move(both.ranks);
  other.is_aligned = true;
}

/// Adds the calls and stages of the other tool's ranks.
void addRanks(RecordedJob& job, ProfiledJob other) {
  const std::vector<WorldRank> ranks = ranksIn(other);
  Trace trace;
  makeSource(std::move(other), startNs(job))
      ->readAll([&](const Chunk& chunk) { trace.add(chunk); },
                [&](const std::string& problem) { job.problems.push_back(problem); });
  const SharedGroups groups(job, trace);
  for (const WorldRank rank : ranks)
    for (Event event : trace.events(rank)) {
      event.group = groups.idFor(event.group);
      job.events.push_back(event);
    }
}

}  // namespace

void addBesideRecording(RecordedJob& job, ProfiledJob other) {
  const std::int32_t world_size = job.ranks.front().world_size;
  if (!other.infers_world_size && other.ranks.front().world_size != world_size) {
    job.problems.push_back("the " + other.files + " of " + other.format + " are of a job of " +
                           std::to_string(other.ranks.front().world_size) +
                           " ranks, and the recording of one of " + std::to_string(world_size) +
                           ": they are not read. Open them in a folder of their own");
    return;
  }
  job.problems.insert(job.problems.end(), other.problems.begin(), other.problems.end());
  other.problems.clear();
  const bool was_cut = !std::ranges::all_of(job.ranks, &RankLines::ended);
  if (was_cut)
    for (const std::string& sentence : other.standing)
      job.lacks.push_back("at the end, by " + other.format + ": " + sentence);
  std::vector<WorldRank> known = ranksIn(other);
  std::erase_if(other.ranks, [&](const ProfiledRank& rank) {
    return rank.rank.value() >= world_size ||
           std::ranges::find(job.ranks, rank.rank, &RankLines::rank) != job.ranks.end();
  });
  const std::vector<WorldRank> added = ranksIn(other);
  std::erase_if(known, [&](WorldRank rank) { return std::ranges::count(added, rank) > 0; });
  if (!known.empty())
    job.lacks.push_back("calls of " + describeRanks(known) + " are those of the recording; the " +
                        other.files + " of " + other.format + " give " +
                        (was_cut && !other.standing.empty() ? "where these ranks stood at the end"
                                                            : "nothing more here"));
  if (added.empty()) return;
  job.lacks.push_back("calls of " + describeRanks(added) + " are those of " + other.format +
                      ", because the recorder has no lines of them. Their calls serve to align "
                      "clocks, and are not drawn as those of the recording's collectives");
  alignWith(job, other);
  for (const std::string& lack : other.lacks) job.lacks.push_back(other.format + ": " + lack);
  addRanks(job, std::move(other));
}

}  // namespace ringscope::traces
