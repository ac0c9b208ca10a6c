// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "traces/exchange/import/format.h"
#include "traces/exchange/import/missing_ranks.h"
#include "traces/exchange/import/problem_source.h"
#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/ending.h"

namespace ringscope::traces {
namespace {

/// Returns the shift of each rank's clock. Clocks of one machine are compared by its steady clock,
/// clocks of several machines by their wall clocks.
std::vector<std::int64_t> shiftsOf(const std::vector<RankLines>& ranks) {
  const bool one_boot =
      !ranks.front().boot_id.empty() && std::ranges::all_of(ranks, [&](const RankLines& rank) {
        return rank.boot_id == ranks.front().boot_id;
      });
  std::vector<std::int64_t> shifts;
  shifts.reserve(ranks.size());
  for (const RankLines& rank : ranks) shifts.push_back(one_boot ? rank.steady_ns : rank.unix_ns);
  const auto [first, last] = std::ranges::minmax(shifts);
  constexpr std::int64_t kMostNs = std::int64_t{86'400} * 7 * 1'000'000'000;
  if (first < 0 || last < 0 || last - first > kMostNs)
    throw inputError("the rank files began more than a week apart; they are not of one job");
  for (std::int64_t& shift : shifts) shift -= first;
  return shifts;
}

void checkRanks(RecordedJob& job) {
  for (const RankLines& rank : job.ranks)
    job.problems.insert(job.problems.end(), rank.problems.begin(), rank.problems.end());
  std::vector<WorldRank> present;
  for (const RankLines& rank : job.ranks) present.push_back(rank.rank);
  std::string missing = describeMissingRanks("files", present, job.ranks.front().world_size);
  if (!missing.empty()) job.problems.push_back(std::move(missing));
}

bool isWhole(const RecordedJob& job) {
  return static_cast<int>(job.ranks.size()) == job.ranks.front().world_size &&
         (std::ranges::all_of(job.ranks, &RankLines::ended) || countWholeSteps(job) > 0);
}

/// Adds records in chunks of the usual size.
template <typename Record>
void addAll(MemorySource& source, EndRecord& end, std::span<const Record> records) {
  constexpr std::size_t kRowsPerChunk = 65536;
  end.rows_by_kind[static_cast<std::size_t>(ChunkOf<Record>::kKind)] += records.size();
  for (; !records.empty(); records = records.subspan(std::min(kRowsPerChunk, records.size())))
    source.add(records.first(std::min(kRowsPerChunk, records.size())));
}
template <typename Record>
void addAll(MemorySource& source, EndRecord& end, const std::vector<Record>& records) {
  addAll(source, end, std::span<const Record>(records));
}

/// Adds events so that no chunk has events of two ranks.
void addEventsByRank(MemorySource& source, EndRecord& end, std::span<const Event> events) {
  while (!events.empty()) {
    const WorldRank rank = events.front().rank;
    const auto other =
        std::ranges::find_if(events, [&](const Event& event) { return event.rank != rank; });
    const auto own = static_cast<std::size_t>(other - events.begin());
    addAll(source, end, events.first(own));
    events = events.subspan(own);
  }
}

std::shared_ptr<ChunkSource> makeSource(RecordedJob& job) {
  const auto source = std::make_shared<ProblemSource>(job.problems);
  EndRecord end;
  end.rows_by_kind = noRows();
  end.events = job.events.size();
  for (const Event& event : job.events) end.run_clock_ns = std::max(end.run_clock_ns, event.end_ns);
  addAll(*source, end, std::vector{job.run});
  addAll(*source, end, job.groups);
  addAll(*source, end, job.microbatch_groups);
  addAll(*source, end, job.intents);
  addAll(*source, end, job.schedules);
  addAll(*source, end, job.shards);
  addAll(*source, end, job.microbatch_shards);
  addAll(*source, end, job.tensors);
  for (auto& [id, values] : job.kept) source->addValues(TensorId::of(id), std::move(values));
  end.rows_by_kind[static_cast<std::size_t>(ChunkKind::kValues)] = job.kept.size();
  addEventsByRank(*source, end, job.events);
  addAll(*source, end, job.memory);
  addAll(*source, end, job.notes);
  if (isWhole(job)) source->add(end);
  return source;
}

}  // namespace

std::shared_ptr<ChunkSource> openRecording(const std::string& folder) {
  return openRecording(folder, [](RecordedJob& /*job*/) {});
}

std::shared_ptr<ChunkSource> openRecording(const std::string& folder,
                                           const std::function<void(RecordedJob&)>& add) {
  RecordedJob job;
  job.folder = folder;
  job.ranks = readRankFiles(folder);
  addContext(job);
  addOtherLosses(job);
  for (RankLines& rank : job.ranks) {
    leaveOutRecomputedLosses(rank);
    leaveOutUnusedPicks(rank);
    leaveOutEvaluations(rank);
    leaveOutOwnBlocks(rank);
    leaveOutOtherTables(rank);
  }
  job.shifts = shiftsOf(job.ranks);
  job.values = std::make_shared<RecordedValues>(folder);
  checkRanks(job);
  markFurtherLosses(job);
  joinParts(job);
  joinAttentionGroups(job);
  addOwnLayout(job);
  addCutVariables(job);
  addMesh(job);
  addShards(job);
  addMicrobatchShards(job);
  addSchedules(job);
  addRun(job);
  addTensors(job);
  addEvents(job);
  addMemory(job);
  add(job);
  addNotes(job);
  addOwnAverages(job);
  addObservedParts(job);
  addCalledLosses(job);
  addAssertedTypes(job);
  addOwnParameters(job);
  leaveOutImpossible(job);
  return makeSource(job);
}

}  // namespace ringscope::traces
