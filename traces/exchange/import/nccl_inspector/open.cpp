// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/nccl_inspector/log.h"
#include "traces/exchange/import/plain_files.h"
#include "traces/exchange/import/profile/formats.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

/// Returns the communicator of all ranks: the largest one. Throws when two are as large, because
/// then no log says which rank of the job it is of.
std::string worldCommunicator(const std::vector<InspectorLog>& logs) {
  std::map<std::string, std::int32_t> sizes;
  for (const InspectorLog& log : logs) sizes.insert(log.sizes.begin(), log.sizes.end());
  std::string world;
  bool unique = false;
  for (const auto& [id, size] : sizes) {
    if (!world.empty() && size < sizes[world]) continue;
    unique = world.empty() || size > sizes[world];
    world = id;
  }
  if (!unique)
    throw inputError(logs.front().path +
                     (world.empty() ? " holds no collective"
                                    : " and its neighbours have no single communicator of "
                                      "all ranks, so their ranks are unknown. Let the job "
                                      "call a collective over all ranks, for example "
                                      "torch.distributed.barrier()"));
  return world;
}

/// Returns a log's rank of the job.
WorldRank rankOf(const InspectorLog& log, const std::string& world) {
  WorldRank rank;
  for (const InspectedCall& inspected : log.calls) {
    if (inspected.communicator != world) continue;
    const WorldRank stated = WorldRank::of(inspected.place);
    if (rank.exists() && rank != stated)
      throw inputError(log.path +
                       " is of a process with several ranks, which this program does not read: "
                       "start one process per GPU");
    rank = stated;
  }
  if (rank.isNone())
    throw inputError(log.path + " has no collective of the communicator " + world +
                     " of all ranks, so its rank is unknown: remove the file from the folder");
  return rank;
}

using Members = std::map<std::string, std::map<std::int32_t, WorldRank>>;

/// Returns the known ranks of each communicator, by their rank in it.
Members membersIn(const std::vector<InspectorLog>& logs, const std::string& world) {
  Members members;
  for (const InspectorLog& log : logs) {
    const WorldRank rank = rankOf(log, world);
    for (const InspectedCall& inspected : log.calls)
      members[inspected.communicator].try_emplace(inspected.place, rank);
    for (std::int32_t r = 0; r < log.sizes.at(world); ++r)
      members[world].try_emplace(r, WorldRank::of(r));
  }
  return members;
}

ProfiledRank profiledRank(const InspectorLog& log, const std::string& world,
                          const Members& members) {
  ProfiledRank rank;
  rank.rank = rankOf(log, world);
  rank.world_size = log.sizes.at(world);
  rank.file = log.path;
  std::map<std::string, std::int32_t> groups;
  for (const InspectedCall& inspected : log.calls) {
    const auto [group, is_new] = groups.try_emplace(
        inspected.communicator, static_cast<std::int32_t>(std::ssize(rank.groups)));
    if (is_new) {
      NamedGroup named{inspected.communicator, {}};
      std::set<WorldRank> seen;
      for (const auto& [place, member] : members.at(inspected.communicator))
        if (seen.insert(member).second) named.members.push_back(member);
      if (seen.contains(rank.rank))
        rank.groups.push_back(std::move(named));
      else
        group->second = -1;  // another log states the same rank of the communicator
    }
    rank.calls.push_back(inspected.call);
    rank.calls.back().group = group->second;
  }
  return rank;
}

void sayLacks(ProfiledJob& job, const std::vector<InspectorLog>& logs) {
  job.lacks.emplace_back(
      "a log of NCCL's Inspector has collectives alone: no messages, no work of ranks, no position "
      "ids, no values of tensors, no mask and no layers; recording the job with "
      "ringscope.record(…) keeps them (traces/recorder)");
  job.lacks.emplace_back(
      "the Inspector writes at each interval only the last collective of a communicator, so "
      "others are missing; a smaller NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS misses "
      "fewer");
  if (!std::ranges::all_of(logs, &InspectorLog::has_times))
    job.lacks.emplace_back(
        "the logs say how long a collective took, and not when; its end is shown where it was "
        "written, which is later. NCCL_INSPECTOR_DUMP_VERBOSE=1 records the times");
}

}  // namespace

ProfiledJob readNcclInspector(const std::vector<std::string>& paths, bool) {
  std::vector<InspectorLog> logs;
  logs.reserve(paths.size());
  for (const std::string& path : paths) logs.push_back(readInspectorLog(path));
  const std::string world = worldCommunicator(logs);
  const Members members = membersIn(logs, world);
  ProfiledJob job;
  job.format = "NCCL Inspector";
  job.files = "logs";
  job.has_own_numbers = true;
  for (const InspectorLog& log : logs) {
    if (!log.damage.empty())
      job.problems.push_back(log.path + " could not be read to its end (" + log.damage + ")");
    if (log.left_out > 0)
      job.problems.push_back(log.path + ": " + describeCount(log.left_out, "line") +
                             " without a readable collective left out");
    job.ranks.push_back(profiledRank(log, world, members));
  }
  checkOneJob(job);
  sayLacks(job, logs);
  return job;
}

bool beginsAsNcclInspector(std::span<const std::uint8_t> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain), [](char c) {
    return std::string_view(" \t\r\n").find(c) == std::string_view::npos;
  });
  return plain.starts_with(R"({"header":{"id":)");
}

std::vector<std::string> filesOfNcclInspector(const std::string& folder) {
  return plainFiles(folder, [](const std::string& path) {
    const bool named =
        std::ranges::any_of(std::initializer_list<const char*>{".log", ".jsonl", ".json"},
                            [&](const char* ending) { return hasEnding(path, ending); });
    return named && beginsAsNcclInspector(readContentHead(path));
  });
}

std::shared_ptr<ChunkSource> openNcclInspector(const std::string& path) {
  const bool folder = fs::is_directory(path);
  return makeSource(
      readNcclInspector(folder ? filesOfNcclInspector(path) : std::vector{path}, !folder));
}

}  // namespace ringscope::traces
