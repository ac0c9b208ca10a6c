// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "traces/exchange/import/format.h"
#include "traces/exchange/import/mixed/beside_recording.h"
#include "traces/exchange/import/mixed/group_names.h"
#include "traces/exchange/import/profile/formats.h"
#include "traces/exchange/waits/who_waits.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

/// A format whose files make a ProfiledJob.
struct JobFormat {
  std::vector<std::string> (*files)(const std::string& folder);
  ProfiledJob (*read)(const std::vector<std::string>& paths, bool alone);
};

/// The formats, the one that tells most about a rank first.
constexpr std::array kJobFormats = {JobFormat{filesOfKineto, readKineto},
                                    JobFormat{filesOfNsight, readNsight},
                                    JobFormat{filesOfNcclInspector, readNcclInspector},
                                    JobFormat{filesOfFlightRecorder, readFlightRecorder},
                                    JobFormat{filesOfDebugMode, readDebugMode}};

/// Gives all jobs the world size that files state, or the largest one that is inferred. A group
/// that an importer made of all ranks grows with it.
void agreeOnWorldSize(std::vector<ProfiledJob>& jobs) {
  std::int32_t size = 0;
  for (const ProfiledJob& job : jobs) size = std::max(size, job.ranks.front().world_size);
  for (ProfiledJob& job : jobs)
    if (job.infers_world_size) setWorldSize(job, size);
}

/// Clears numbers of calls. The numbers of different tools are not comparable, so calls are matched
/// in their order.
void clearNumbers(ProfiledJob& job) {
  for (ProfiledRank& rank : job.ranks)
    for (Call& call : rank.calls) call.sequence = -1;
}

/// Adds the ranks of `other` that `job` does not have, and what `other` says about the job.
void join(ProfiledJob& job, ProfiledJob other) {
  std::vector<WorldRank> known;
  if (other.infers_members) takeMembers(job, other);
  renameGroups(job, other);
  for (ProfiledRank& rank : other.ranks) {
    if (std::ranges::find(job.ranks, rank.rank, &ProfiledRank::rank) == job.ranks.end())
      job.ranks.push_back(std::move(rank));
    else
      known.push_back(rank.rank);
  }
  if (!known.empty())
    job.lacks.push_back(
        "calls of " + describeRanks(known) + " are those of " + job.format + "; the " +
        other.files + " of " + other.format + " give " +
        (other.standing.empty() ? "nothing more here" : "where these ranks stood at the end"));
  const auto add = [](std::vector<std::string>& to, std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(job.standing, other.standing);
  add(job.problems, other.problems);
  for (const std::string& lack : other.lacks) job.lacks.push_back(other.format + ": " + lack);
  job.format += " and " + other.format;
}

/// Reads the files of all formats in a folder as one job; nullopt when it holds none.
std::optional<ProfiledJob> readAll(const std::string& folder) {
  std::vector<ProfiledJob> jobs;
  for (const JobFormat& format : kJobFormats)
    if (const auto files = format.files(folder); !files.empty())
      jobs.push_back(format.read(files, false));
  if (jobs.empty()) return std::nullopt;
  agreeOnWorldSize(jobs);
  if (jobs.size() > 1)
    for (ProfiledJob& one : jobs)
      if (one.has_own_numbers) clearNumbers(one);
  ProfiledJob job = std::move(jobs.front());
  if (jobs.size() > 1) {
    for (std::string& lack : job.lacks) lack.insert(0, job.format + ": ");
    job.files = "files";
  }
  for (std::size_t i = 1; i < jobs.size(); ++i) join(job, std::move(jobs[i]));
  checkOneJob(job);
  return job;
}

/// Adds the files of other tools to a recorded job. Files that cannot be read are a problem of the
/// recording, and do not keep it from being opened.
void addOtherFiles(RecordedJob& job) {
  try {
    if (auto other = readAll(job.folder)) addBesideRecording(job, std::move(*other));
  } catch (const Error& error) {
    job.problems.push_back(std::string(error.what()) +
                           "; the recording is shown without the files of other tools");
  }
}

}  // namespace

std::vector<std::string> filesOfMixed(const std::string& folder) {
  std::vector<std::string> all = filesOfRecording(folder);
  int formats = all.empty() ? 0 : 1;
  for (const JobFormat& format : kJobFormats) {
    const std::vector<std::string> files = format.files(folder);
    formats += !files.empty();
    all.insert(all.end(), files.begin(), files.end());
  }
  return formats > 1 ? all : std::vector<std::string>();
}

std::shared_ptr<ChunkSource> openMixed(const std::string& folder) {
  if (!filesOfRecording(folder).empty()) return openRecording(folder, addOtherFiles);
  return makeSource(*readAll(folder));
}

}  // namespace ringscope::traces
