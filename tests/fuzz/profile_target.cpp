// SPDX-License-Identifier: Apache-2.0
// Imports the files of two ranks, separated by a zero byte, and reads the resulting chunks with the
// read model. The files are profiles when the input begins with "p", and dumps of the Flight
// Recorder otherwise.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "traces/exchange/import/flight_recorder/dump.h"
#include "traces/exchange/import/kineto/rank_file.h"
#include "traces/format/trace/trace.h"

namespace {

using namespace ringscope::traces;

/// A folder of this process's own, in memory where the system has such a place.
const std::string& folder() {
  // Never destroyed: it is asked for at the very end.
  static const std::string& made = *[] {
    const char* in = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    std::string name = std::string(in) + "/ringscope-fuzz-profile-" + std::to_string(::getpid());
    std::filesystem::create_directories(name);
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return new std::string(name);
  }();
  return made;
}

void addRank(ProfiledJob& job, std::vector<Dump>& dumps, const std::string& path, bool profile) {
  if (profile) {
    RankFile file = readRankFile(path, true);
    if (file.rank_from_name) file.world_size = file.rank.value() + 1;
    if (file.rank.isNone() || file.rank.value() >= file.world_size) return;
    job.ranks.push_back(profiledRank(std::move(file)));
    return;
  }
  dumps.push_back(readDump(path));
  job.ranks.push_back(dumps.back().rank);
  for (const DumpEntry& entry : dumps.back().entries)
    if (!dumps.back().rank.groups[static_cast<std::size_t>(entry.call.group)].members.empty())
      job.ranks.back().calls.push_back(entry.call);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  std::ofstream(folder() + "/rank_0.json") << text.substr(0, cut);
  std::ofstream(folder() + "/rank_1.json") << text.substr(std::min(cut + 1, text.size()));
  try {
    ProfiledJob job;
    std::vector<Dump> dumps;
    for (const char* name : {"/rank_0.json", "/rank_1.json"})
      addRank(job, dumps, folder() + name, data[0] == 'p');
    if (job.ranks.empty()) return 0;
    describeStanding(dumps);
    checkOneJob(job);
    const auto source = makeSource(std::move(job));
    Trace trace;
    source->readAll([&](const Chunk& chunk) { trace.add(chunk); }, [](const std::string&) {});
    trace.problems();
  } catch (const ringscope::Error&) {  // which is how a file is refused
  }
  return 0;
}
