// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/debug_mode/rank_log.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/plain_files.h"
#include "traces/exchange/import/profile/formats.h"
#include "traces/exchange/import/profile/rank_name.h"
#include "traces/exchange/waits/who_waits.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorldGroup = "0";  // PyTorch's name of the first group, of all ranks

/// The logs of a job, by rank.
using Logs = std::map<WorldRank, RankLog>;

Logs readLogs(const std::vector<std::string>& paths, bool alone) {
  Logs logs;
  for (const std::string& path : paths) {
    WorldRank rank = rankInName(path);
    if (rank.isNone() && alone) rank = WorldRank::of(0);
    if (rank.isNone())
      throw inputError(path + ": its name does not say its rank, as rank3.json would");
    const auto [at, is_new] = logs.try_emplace(rank, readRankLog(path));
    if (!is_new)
      throw inputError(at->second.path + " and " + path + " are both of rank " + toString(rank) +
                       "; a folder holds one file a rank");
  }
  return logs;
}

/// Returns the number of ranks of the job, which no log states: the largest number that occurs.
std::int32_t worldSize(const Logs& logs) {
  std::int32_t size = logs.rbegin()->first.value() + 1;
  for (const auto& [rank, log] : logs) {
    size = std::max(size, log.unnamed_size);
    for (const auto& [name, ranks] : log.group_sizes) size = std::max(size, ranks);
  }
  return size;
}

using Members = std::map<std::string, std::vector<WorldRank>>;

/// Returns the members of each group: the ranks whose logs name it, and all ranks for the group of
/// all ranks.
Members groupMembers(const Logs& logs, std::int32_t size) {
  Members members;
  for (const auto& [rank, log] : logs)
    for (const std::string& name : log.group_names) members[name].push_back(rank);
  auto& all = members[kWorldGroup];
  all.clear();
  for (std::int32_t rank = 0; rank < size; ++rank) all.push_back(WorldRank::of(rank));
  return members;
}

/// Reports whether calls that name no group can be those of all ranks: no call shows that the job
/// has a smaller group.
bool hasOneGroup(const Logs& logs, const Members& members) {
  const std::int64_t size = std::ssize(members.at(kWorldGroup));
  return std::ranges::all_of(logs,
                             [&](const auto& entry) {
                               const std::int32_t unnamed = entry.second.unnamed_size;
                               return unnamed == 0 || unnamed == size;
                             }) &&
         std::ranges::all_of(members,
                             [&](const auto& group) { return std::ssize(group.second) == size; });
}

bool namesNoGroup(const Call& call) {
  return call.group < 0;
}

ProfiledRank profiledRank(WorldRank number, const RankLog& log, const Members& members,
                          bool one_group) {
  ProfiledRank rank;
  rank.rank = number;
  rank.world_size = static_cast<std::int32_t>(members.at(kWorldGroup).size());
  rank.file = log.path;
  rank.has_times = false;
  rank.marks_steps = log.marks_steps;
  rank.calls = log.calls;
  rank.stages = log.stages;
  for (Event& stage : rank.stages) stage.rank = number;
  for (const std::string& name : log.group_names)
    rank.groups.push_back({name == kWorldGroup ? "default_pg" : name, members.at(name)});
  if (std::ranges::none_of(rank.calls, namesNoGroup)) return rank;
  const auto world = std::ranges::find(rank.groups, "default_pg", &NamedGroup::name);
  const auto at = static_cast<std::int32_t>(world - rank.groups.begin());
  if (one_group && world == rank.groups.end())
    rank.groups.push_back({"default_pg", members.at(kWorldGroup)});
  for (Call& call : rank.calls) {
    if (!namesNoGroup(call)) continue;
    if (one_group)
      call.group = at;
    else
      call.peer_in_group = -1;  // a place in an unknown group
  }
  return rank;
}

void sayLacks(ProfiledJob& job, const Logs& logs, const Members& members) {
  job.lacks.emplace_back(
      "a log of DebugMode has no times: its entries are shown 1 µs apart, or spread between calls "
      "that other ranks made too, so durations, waits and overlap mean nothing");
  job.lacks.emplace_back(
      "a log of DebugMode has collectives, messages and the order of operators alone: no position "
      "ids, no values of tensors, no mask and no ring steps; its hashes are compared by "
      "DebugMode.check_hash_mismatches(), and recording the job with ringscope.record(…) keeps the "
      "rest (traces/recorder)");
  if (std::ranges::any_of(job.ranks, [](const ProfiledRank& rank) {
        return std::ranges::any_of(rank.calls, namesNoGroup);
      }))
    job.lacks.emplace_back(
        "calls of c10d name no process group, and the job has several, so these calls are not "
        "matched; functional collectives name their group");
  else if (std::ranges::any_of(logs, [](const auto& entry) {
             return std::ranges::any_of(entry.second.calls, namesNoGroup);
           }))
    job.lacks.emplace_back(
        "calls of c10d name no process group; they are taken for calls of all ranks, because no "
        "call shows a smaller group");
  if (std::ranges::any_of(logs, [&](const auto& entry) {
        return std::ranges::any_of(entry.second.group_sizes, [&](const auto& group) {
          return std::ssize(members.at(group.first)) != group.second;
        });
      }))
    job.lacks.emplace_back(
        "a process group has more ranks than have logs here; the ranks whose logs name a group are "
        "taken for its members");
  if (!std::ranges::all_of(job.ranks, &ProfiledRank::marks_steps))
    job.lacks.emplace_back(
        "training steps are not marked, so all is shown as one; a schedule and step() of "
        "torch.profiler mark them");
}

}  // namespace

ProfiledJob readDebugMode(const std::vector<std::string>& paths, bool alone) {
  const Logs logs = readLogs(paths, alone);
  ProfiledJob job;
  job.format = "PyTorch DebugMode";
  job.files = "logs";
  job.infers_world_size = true;
  job.infers_members = true;
  const Members members = groupMembers(logs, worldSize(logs));
  const bool one_group = hasOneGroup(logs, members);
  for (const auto& [rank, log] : logs) {
    if (!log.damage.empty())
      job.problems.push_back(log.path + " could not be read to its end (" + log.damage + ")");
    if (log.left_out > 0)
      job.problems.push_back(log.path + ": " + describeCount(log.left_out, "call record") +
                             " without a type, a name or a depth left out");
    job.ranks.push_back(profiledRank(rank, log, members, one_group));
  }
  requireContent(job, paths.front());
  checkOneJob(job);
  sayLacks(job, logs, members);
  return job;
}

bool beginsAsDebugMode(std::span<const std::uint8_t> head) {
  return beginsAsObjectWith(head, "torch.utils._debug_mode.DebugMode.logs");
}

std::vector<std::string> filesOfDebugMode(const std::string& folder) {
  return plainFiles(folder, [](const std::string& path) {
    return hasEnding(path, ".json") && beginsAsDebugMode(readContentHead(path));
  });
}

std::shared_ptr<ChunkSource> openDebugMode(const std::string& path) {
  const bool folder = fs::is_directory(path);
  return makeSource(readDebugMode(folder ? filesOfDebugMode(path) : std::vector{path}, !folder));
}

}  // namespace ringscope::traces
