// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/flight_recorder/dump.h"
#include "traces/exchange/import/flight_recorder/pickle.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/plain_files.h"
#include "traces/exchange/import/profile/formats.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

/// Gives a group whose ranks no dump lists the ranks whose dumps name it.
void completeGroups(std::vector<Dump>& dumps) {
  for (Dump& dump : dumps)
    for (NamedGroup& group : dump.rank.groups) {
      if (!group.members.empty()) continue;
      std::vector<WorldRank> members;
      for (const Dump& other : dumps)
        if (std::ranges::find(other.rank.groups, group.name, &NamedGroup::name) !=
            other.rank.groups.end())
          members.push_back(other.rank.rank);
      std::ranges::sort(members);
      members.erase(std::unique(members.begin(), members.end()), members.end());
      for (Dump& other : dumps)
        for (NamedGroup& same : other.rank.groups)
          if (same.name == group.name && same.members.empty()) same.members = members;
    }
}

/// Returns the number of ranks of the job, which no dump states, from the largest rank that occurs.
std::int32_t worldSize(const std::vector<Dump>& dumps) {
  std::int32_t size = 0;
  for (const Dump& dump : dumps) {
    size = std::max(size, dump.rank.rank.value() + 1);
    for (const NamedGroup& group : dump.rank.groups)
      for (const WorldRank member : group.members) size = std::max(size, member.value() + 1);
  }
  return size;
}

void sayLacks(ProfiledJob& job, const std::vector<Dump>& dumps) {
  const auto any = [&](const auto& test) {
    return std::ranges::any_of(
        dumps, [&](const Dump& dump) { return std::ranges::any_of(dump.entries, test); });
  };
  job.lacks.emplace_back(
      "a dump of the Flight Recorder has collectives and messages alone: no work of ranks, no "
      "position ids, no values of tensors, no mask, no layers and no ring steps, so what views and "
      "rules read of these is unknown; recording the job with ringscope.record(…) keeps them "
      "(traces/recorder)");
  job.lacks.emplace_back(
      "it keeps the last calls alone (TORCH_NCCL_TRACE_BUFFER_SIZE of them), and training steps "
      "are not marked, so all is shown as one");
  if (any([](const DumpEntry& entry) { return entry.call.completes; }))
    job.lacks.emplace_back(
        "begins and ends are when PyTorch's watchdog saw them, which is later than they were; "
        "PyTorch's profiler has them as they were");
  if (any([](const DumpEntry& entry) { return entry.is_gloo; }))
    job.lacks.emplace_back(
        "of what Gloo carries out a dump has only when it was asked for, and neither sends nor "
        "receives");
  if (!std::ranges::all_of(dumps, &Dump::names_members))
    job.lacks.emplace_back(
        "some dumps do not list the ranks of their process groups; those whose dumps name a group "
        "are taken for its members");
}

}  // namespace

ProfiledJob readFlightRecorder(const std::vector<std::string>& paths, bool) {
  std::vector<Dump> dumps;
  dumps.reserve(paths.size());
  for (const std::string& path : paths) dumps.push_back(readDump(path));
  completeGroups(dumps);
  ProfiledJob job;
  job.format = "PyTorch Flight Recorder";
  job.files = "dumps";
  job.infers_world_size = true;
  job.infers_members = !std::ranges::all_of(dumps, &Dump::names_members);
  job.standing = describeStanding(dumps);
  const std::int32_t world_size = worldSize(dumps);
  for (const Dump& dump : dumps) {
    ProfiledRank rank = dump.rank;
    rank.world_size = world_size;
    rank.seen_late = true;
    for (const DumpEntry& entry : dump.entries) rank.calls.push_back(entry.call);
    if (!dump.damage.empty())
      job.problems.push_back(rank.file + " could not be read to its end (" + dump.damage + "); " +
                             describeCount(std::ssize(dump.entries), "call") +
                             " before that were read");
    if (dump.left_out > 0)
      job.problems.push_back(rank.file + ": " + describeCount(dump.left_out, "call") +
                             " cannot be read and left out");
    job.ranks.push_back(std::move(rank));
  }
  checkOneJob(job);
  if (std::ranges::all_of(job.ranks, [](const ProfiledRank& rank) { return rank.calls.empty(); }))
    throw inputError(!job.problems.empty() ? job.problems.front()
                                           : paths.front() + " holds no collective and no message");
  sayLacks(job, dumps);
  return job;
}

bool beginsAsFlightRecorder(std::span<const std::uint8_t> head) {
  if (isPickle(head)) return true;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::size_t brace = text.find_first_not_of(" \t\r\n");
  if (brace == std::string_view::npos || text[brace] != '{') return false;
  const std::size_t quote = text.find_first_not_of(" \t\r\n", brace + 1);
  if (quote == std::string_view::npos) return false;
  for (const char* key : {"\"comm_lib_version\"", "\"nccl_version\"", "\"nccl_comm_state\"",
                          "\"entries\"", "\"pg_config\"", "\"pg_status\"", "\"version\""})
    if (text.substr(quote).starts_with(key)) return true;
  return false;
}

std::vector<std::string> filesOfFlightRecorder(const std::string& folder) {
  std::vector<std::string> found = plainFiles(folder, [](const std::string& path) {
    const std::string name = nameWithoutEndings(path);
    const bool numbered = !name.empty() && name.back() >= '0' && name.back() <= '9';
    return (hasEnding(path, ".json") || numbered) && beginsAsFlightRecorder(readContentHead(path));
  });
  // A pickle is skipped when the JSON that was made from it lies beside it.
  std::erase_if(found, [&](const std::string& path) {
    return std::ranges::count(found, path + ".json") > 0;
  });
  return found;
}

std::shared_ptr<ChunkSource> openFlightRecorder(const std::string& path) {
  const bool folder = fs::is_directory(path);
  return makeSource(
      readFlightRecorder(folder ? filesOfFlightRecorder(path) : std::vector{path}, !folder));
}

}  // namespace ringscope::traces
