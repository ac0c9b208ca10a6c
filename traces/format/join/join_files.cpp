// SPDX-License-Identifier: Apache-2.0
#include "traces/format/join/join_files.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/utf8.h"
#include "traces/format/join/chunk_joiner.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/storage/sqlite_source.h"
#include "traces/format/storage/trace_path.h"
#include "traces/format/trace/ending.h"

namespace ringscope::traces {
namespace {

/// The time of run clock 0 of a file.
struct ClockStart {
  std::string boot;  ///< boot id of the machine; steady clocks of one boot are one clock
  std::int64_t steady_ns = 0, unix_ns = 0;
};

/// The facts about a file that are needed before it is joined.
struct Summary {
  std::optional<RunSpec> run;
  std::set<int> ranks;
  std::optional<ClockStart> clock;
  bool whole = false;  ///< the rank recorded until its end
};

std::string bootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

std::optional<ClockStart> parseClock(const std::string& text) {
  const auto json = parseJson(text, "the note of its clock");
  try {
    return ClockStart{json.at("boot_id"), json.at("steady_ns"), json.at("unix_ns")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

/// Returns the specification without what may differ between the ranks' machines.
RunSpec withoutMachine(RunSpec run) {
  run.cores = 0;
  return run;
}

Summary summaryOf(const std::string& path) {
  Summary summary;
  std::vector<std::string> damage;
  SqliteSource(path).readAll(
      [&](const Chunk& chunk) {
        if (chunk.kind == ChunkKind::kEvents) summary.ranks.insert(chunk.rank.value());
        if (chunk.kind == ChunkKind::kEnd) summary.whole = true;
        if (chunk.kind == ChunkKind::kRun) summary.run = withoutMachine(decodeOne<RunSpec>(chunk));
        if (chunk.kind != ChunkKind::kNotes) return;
        for (const Note& note : decodeRows<Note>(chunk))
          if (note.key == kClockNote) summary.clock = parseClock(note.json);
      },
      [&](std::string sentence) { damage.push_back(std::move(sentence)); });
  if (!damage.empty())
    throw inputError(path + ": " + toPlainText(damage.front()) + "; it cannot be joined");
  return summary;
}

void checkTogether(const std::vector<std::string>& paths, const std::vector<Summary>& all) {
  std::set<int> ranks;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!all[i].run || all[i].run != all[0].run)
      throw inputError(paths[i] + " and " + paths[0] + " are not of one run");
    if (!all[i].clock) throw inputError(paths[i] + " does not say when it began");
    for (const int rank : all[i].ranks)
      if (!ranks.insert(rank).second)
        throw inputError("rank " + std::to_string(rank) + " is in two files, one of them " +
                         paths[i]);
  }
}

ClockAlignment alignmentOf(const std::vector<Summary>& all) {
  const bool one_boot = std::ranges::all_of(
      all, [&](const Summary& s) { return s.clock->boot == all[0].clock->boot; });
  return one_boot ? ClockAlignment::kSteadyClock : ClockAlignment::kWallClock;
}

/// Returns the time to add to each file's run clock, so that the earliest file begins at 0.
std::vector<std::int64_t> shiftsOf(const std::vector<Summary>& all, ClockAlignment alignment) {
  std::vector<std::int64_t> starts;
  starts.reserve(all.size());
  for (const Summary& s : all)
    starts.push_back(alignment == ClockAlignment::kSteadyClock ? s.clock->steady_ns
                                                               : s.clock->unix_ns);
  const auto [first, last] = std::ranges::minmax(starts);
  constexpr std::int64_t kMostNs = std::int64_t{7} * 86'400 * 1'000'000'000;
  if (first < 0 || last - first > kMostNs)
    throw inputError("the files began more than a week apart; they are not of one run");
  for (std::int64_t& start : starts) start -= first;
  return starts;
}

}  // namespace

std::string describeClock(std::int64_t start_ns) {
  using namespace std::chrono;
  const std::int64_t unix_now =
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  return nlohmann::json({{"boot_id", bootId()},
                         {"steady_ns", start_ns},
                         {"unix_ns", unix_now - (steadyNow() - start_ns)}})
      .dump();
}

ClockAlignment joinFiles(const std::vector<std::string>& inputs, const std::string& output) {
  std::vector<NamedPath> read;
  read.reserve(inputs.size());
  for (const std::string& path : inputs) read.push_back({"TRACE", path});
  checkOutputs(read, {{"--output", output}});
  checkTracePath(output);
  std::vector<Summary> all;
  all.reserve(inputs.size());
  for (const std::string& path : inputs) all.push_back(summaryOf(path));
  checkTogether(inputs, all);
  const ClockAlignment alignment = alignmentOf(all);
  const auto shifts = shiftsOf(all, alignment);
  OutputFile beside(output);
  SqliteSink sink(beside.temporaryPath());
  ChunkJoiner joiner(static_cast<int>(inputs.size()),
                     [&](const Chunk& chunk) { sink.write(chunk); });
  for (std::size_t i = 0; i < inputs.size(); ++i)
    SqliteSource(inputs[i]).readRange(
        0, std::numeric_limits<std::int64_t>::max(),
        [&](Chunk chunk) { joiner.add(static_cast<int>(i), std::move(chunk), shifts[i]); });
  if (const auto cut = std::ranges::count(all, false, &Summary::whole); cut > 0)
    joiner.add(
        0, makeChunk(Note{kEndedNote,
                          endedNote({HowEnded::kCut, std::to_string(cut) + " of " +
                                                         std::to_string(all.size()) +
                                                         " ranks did not record to their end"})}));
  joiner.finish();
  sink.close();
  removeBeside(beside.finalPath());
  beside.finish();
  return alignment;
}

}  // namespace ringscope::traces
