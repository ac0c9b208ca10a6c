// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/nsight/capture.h"
#include "traces/exchange/import/plain_files.h"
#include "traces/exchange/import/profile/formats.h"
#include "traces/exchange/import/profile/rank_name.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

ProfiledRank profiledRank(const Capture& capture, const CapturedProcess& process, WorldRank rank) {
  if (process.several_devices)
    throw inputError(capture.path +
                     " is of a process with several GPUs, which this program does not read: start "
                     "one process per GPU");
  ProfiledRank profiled;
  profiled.rank = rank;
  profiled.file = capture.path;
  profiled.marks_steps = capture.marks_steps;
  profiled.calls = process.calls;
  profiled.stages = process.stages;
  const std::int64_t base = capture.began_ns.value_or(0);
  for (Call& call : profiled.calls)
    for (std::int64_t* ns : {&call.posted_ns, &call.start_ns, &call.end_ns}) *ns += base;
  for (Event& stage : profiled.stages) {
    stage.rank = rank;
    for (std::int64_t* ns : {&stage.begin_ns, &stage.start_ns, &stage.end_ns}) *ns += base;
  }
  return profiled;
}

/// Adds the processes of a single file. Their devices give the ranks.
void addProcesses(ProfiledJob& job, const Capture& capture) {
  std::vector<const CapturedProcess*> processes;
  for (const auto& [id, process] : capture.processes) processes.push_back(&process);
  std::ranges::stable_sort(processes, {}, &CapturedProcess::device);
  if (processes.size() > kMaxRanks)
    throw inputError(capture.path + " holds more than " + describeCount(kMaxRanks, "process"));
  if (processes.size() > 1)
    job.lacks.emplace_back(
        "an export does not say which rank a process is: the order of their GPUs is taken for it");
  for (std::size_t i = 0; i < processes.size(); ++i)
    job.ranks.push_back(profiledRank(capture, *processes[i], WorldRank::of(i)));
}

/// Adds the file of one rank, whose name gives the rank.
void addRank(ProfiledJob& job, const Capture& capture) {
  if (capture.processes.empty()) return;
  const WorldRank rank = rankInName(capture.path);
  if (rank.isNone())
    throw inputError(capture.path + ": its name does not say its rank, as rank3.sqlite would");
  if (capture.processes.size() > 1)
    throw inputError(capture.path +
                     " holds several processes and lies beside other exports: open it alone, or "
                     "let each rank write its own file");
  job.ranks.push_back(profiledRank(capture, capture.processes.begin()->second, rank));
}

/// Gives all ranks the process group of all ranks. The largest rank gives their number.
void addWorld(ProfiledJob& job) {
  std::int32_t size = 0;
  for (const ProfiledRank& rank : job.ranks) size = std::max(size, rank.rank.value() + 1);
  NamedGroup all{"default_pg", {}};
  for (std::int32_t rank = 0; rank < size; ++rank) all.members.push_back(WorldRank::of(rank));
  for (ProfiledRank& rank : job.ranks) {
    rank.world_size = size;
    rank.groups.push_back(all);
  }
}

void sayLacksOf(ProfiledJob& job, const Capture& capture) {
  for (const std::string& table : capture.missing)
    job.lacks.push_back(capture.path + " has no table " + table +
                        (table == kStartOfCapture
                             ? ", so times of this file are not comparable with other files"
                             : ": trace CUDA and NVTX (`nsys profile --trace=cuda,nvtx`)"));
  if (capture.messages > 0)
    job.lacks.push_back(capture.path + ": " + describeCount(capture.messages, "kernel") +
                        " of sends and receives left out, because a kernel does not name its peer");
  if (capture.unnamed > 0)
    job.lacks.push_back(capture.path + ": " + describeCount(capture.unnamed, "kernel") +
                        " of NCCL left out, because the name does not say the collective");
  if (capture.left_out > 0)
    job.problems.push_back(capture.path + ": " + describeCount(capture.left_out, "kernel") +
                           " left out for impossible times");
  for (const std::string& table : capture.damage)
    job.problems.push_back(capture.path + ": the table " + table + " could not be read to its end");
}

void sayLacks(ProfiledJob& job, const std::vector<Capture>& captures) {
  job.lacks.emplace_back(
      "an export of Nsight Systems has kernels alone: no sizes of collectives, no process groups, "
      "no position ids, no values of tensors, no mask and no layers; recording the job with "
      "ringscope.record(…) keeps them (traces/recorder)");
  if (!std::ranges::any_of(captures, &Capture::marks_steps))
    job.lacks.emplace_back(
        "training steps are not marked, so all is shown as one; a range of NVTX whose text is "
        "\"step N\" marks each");
}

}  // namespace

ProfiledJob readNsight(const std::vector<std::string>& paths, bool alone) {
  ProfiledJob job;
  job.format = "Nsight Systems";
  job.files = "exports";
  job.infers_world_size = true;
  std::vector<Capture> captures;
  captures.reserve(paths.size());
  for (const std::string& path : paths) {
    captures.push_back(readCapture(path));
    sayLacksOf(job, captures.back());
    if (alone)
      addProcesses(job, captures.back());
    else
      addRank(job, captures.back());
  }
  if (std::ranges::all_of(job.ranks, [](const ProfiledRank& rank) {
        return rank.calls.empty() && rank.stages.empty();
      }))
    throw inputError(paths.front() +
                     " holds no kernel of a collective of NCCL and none of attention" +
                     (job.problems.empty() ? "" : ". " + job.problems.front()));
  addWorld(job);
  checkOneJob(job);
  sayLacks(job, captures);
  return job;
}

bool beginsAsNsight(std::span<const std::uint8_t> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return text.starts_with("SQLite format 3\0"sv) && !beginsAsRscope(head);
}

std::vector<std::string> filesOfNsight(const std::string& folder) {
  return plainFiles(folder, [](const std::string& path) {
    return (hasEnding(path, ".sqlite") || hasEnding(path, ".db")) &&
           beginsAsNsight(readContentHead(path));
  });
}

std::shared_ptr<ChunkSource> openNsight(const std::string& path) {
  const std::vector<std::string> paths =
      fs::is_directory(path) ? filesOfNsight(path) : std::vector{path};
  return makeSource(readNsight(paths, paths.size() == 1));
}

}  // namespace ringscope::traces
