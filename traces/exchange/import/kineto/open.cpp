// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/kineto/rank_file.h"
#include "traces/exchange/import/plain_files.h"
#include "traces/exchange/import/profile/formats.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecorder =
    "recording the job with ringscope.record(…) keeps them (traces/recorder)";

/// Adds a file to the job, and reports damage.
void addFile(ProfiledJob& job, RankFile file, bool alone) {
  const KinetoHead& head = file.head;
  if (!head.damage.empty())
    job.problems.push_back(file.path + " could not be read to its end (" + head.damage + "); " +
                           describeCount(static_cast<std::int64_t>(head.events), "event") +
                           " before that were read");
  if (head.cleaned > 0)
    job.problems.push_back(file.path + ": " + describeCount(head.cleaned, "value") + " that " +
                           (head.cleaned == 1 ? "is" : "are") +
                           " not valid JSON (NaN, infinity or damaged text) " +
                           (head.cleaned == 1 ? "was" : "were") + " replaced");
  if (head.left_out > 0)
    job.problems.push_back(file.path + ": " +
                           describeCount(static_cast<std::int64_t>(head.left_out), "event") +
                           " left out for impossible times");
  if (alone && file.rank.isNone() && head.distributed.empty()) file.rank = WorldRank::of(0);
  if (file.rank_from_name) file.world_size = file.rank.value() + 1;
  if (file.rank.isNone() || file.rank.value() >= file.world_size)
    throw inputError(file.path +
                     " does not say which rank of how many it is of (distributedInfo): profile "
                     "after init_process_group, or let the file's name say it, as in rank3.json");
  if (!head.damage.empty() && !head.base_ns) {
    job.problems.push_back(file.path +
                           " was cut before it says from when its times count "
                           "(baseTimeNanoseconds), so none of its events can be placed");
    file.postings.clear();
    file.ranges.clear();
    file.comms.clear();
    file.operators.clear();
    file.attention_kernels.clear();
  }
  job.ranks.push_back(profiledRank(std::move(file)));
}

/// The information that files lack, each kind listed once.
class Lacks {
 public:
  void look(const RankFile& file) {
    shapes_ = shapes_ && (file.head.has_shapes || !file.comms.empty());
    messages_ = messages_ || std::ranges::any_of(file.postings, [](const Seen& posting) {
                  return posting.name == "send" || posting.name == "recv";
                });
    gloo_ = gloo_ || !file.ranges.empty();
    groups_ = groups_ || file.groups.size() > 1;
    kernels_ = kernels_ && (file.comms.empty() || !file.kernels.empty());
    steps_ = steps_ && !file.steps.empty();
  }

  void say(ProfiledJob& job) const {
    auto& lacks = job.lacks;
    lacks.emplace_back(
        std::string("a profile has no position ids, no values of tensors, no mask, no layers and "
                    "no ring steps, so what views and rules read of these is unknown; ") +
        kRecorder);
    if (!shapes_)
      lacks.emplace_back(std::string("shapes were not recorded, so sizes ") +
                         (messages_ ? "and who sends to whom are unknown" : "are unknown") +
                         "; torch.profiler.profile(…, record_shapes=True) records them");
    if (gloo_ && groups_)
      lacks.emplace_back(
          "PyTorch's profiler does not name the process group of what Gloo carries out; it was "
          "told from the ranks that did the same at the same time");
    if (!kernels_)
      lacks.emplace_back(
          "kernels of collectives were not profiled, so only when they were asked for is known; "
          "ProfilerActivity.CUDA records them");
    if (!steps_)
      lacks.emplace_back(
          "training steps are not marked, so all is shown as one; a schedule and step() of "
          "torch.profiler mark them");
  }

 private:
  bool shapes_ = true, messages_ = false, gloo_ = false, groups_ = false, kernels_ = true,
       steps_ = true;
};

/// Completes the ranks that are known from files' names. The largest rank gives the number of
/// ranks, and all ranks are taken for one process group when a file names none.
void completeNamed(ProfiledJob& job, const std::vector<WorldRank>& named) {
  if (named.empty()) return;
  std::int32_t world_size = 0;
  for (const ProfiledRank& rank : job.ranks) world_size = std::max(world_size, rank.world_size);
  NamedGroup all{"default_pg", {}};
  for (std::int32_t rank = 0; rank < world_size; ++rank) all.members.push_back(WorldRank::of(rank));
  for (ProfiledRank& rank : job.ranks) {
    if (std::ranges::count(named, rank.rank) == 0) continue;
    rank.world_size = world_size;
    if (rank.groups.empty()) rank.groups.push_back(all);
  }
  job.lacks.push_back(describeCount(std::ssize(named), "file") +
                      " without distributedInfo: the ranks are those of the files' names, the "
                      "largest gives the number of ranks, and a file that names no process group "
                      "is taken to have one of all ranks");
}

}  // namespace

ProfiledJob readKineto(const std::vector<std::string>& paths, bool alone) {
  ProfiledJob job;
  job.format = "PyTorch profiler";
  job.files = "files";
  Lacks lacks;
  std::vector<WorldRank> named;
  for (const std::string& path : paths) {
    RankFile file = readRankFile(path, !alone);
    lacks.look(file);
    if (file.rank_from_name) named.push_back(file.rank);
    addFile(job, std::move(file), alone);
  }
  job.infers_world_size = !named.empty();
  completeNamed(job, named);
  checkOneJob(job);
  requireContent(job, paths.front());
  lacks.say(job);
  return job;
}

bool beginsAsKineto(std::span<const std::uint8_t> head) {
  return beginsAsObjectWith(head, "schemaVersion");
}

std::vector<std::string> filesOfKineto(const std::string& folder) {
  return plainFiles(folder, [](const std::string& path) {
    return hasEnding(path, ".json") && beginsAsKineto(readContentHead(path));
  });
}

std::shared_ptr<ChunkSource> openKineto(const std::string& path) {
  const std::vector<std::string> paths =
      fs::is_directory(path) ? filesOfKineto(path) : std::vector{path};
  return makeSource(readKineto(paths, paths.size() == 1));
}

}  // namespace ringscope::traces
