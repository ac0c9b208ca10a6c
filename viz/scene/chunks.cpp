// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/chunks.h"

#include <algorithm>
#include <set>

#include "traces/format/trace/trace.h"

namespace ringscope::viz {

using traces::ScheduleRecord;
using traces::ShardRun;
using traces::Trace;

namespace {

/// More cannot be seen, and their pairs would take memory with the square of their number.
constexpr std::size_t kMostChunks = 1024;
constexpr std::size_t kMostRuns = std::size_t{1} << 14;

bool isStrided(const ShardRun& run) {
  return run.stride > 1 && run.count > 1;
}

/// Returns the stretches between neighbouring borders that lie in a run, ascending.
std::vector<ShardRun> cutAt(const std::set<std::int64_t>& borders, std::vector<ShardRun> runs) {
  std::ranges::sort(runs, {}, &ShardRun::begin);
  std::vector<ShardRun> chunks;
  std::int64_t covered = 0;  // by the runs that begin here or earlier
  auto run = runs.begin();
  for (auto border = borders.begin(); border != borders.end(); ++border) {
    for (; run != runs.end() && run->begin <= *border; ++run)
      covered = std::max(covered, run->begin + run->count);
    const auto next = std::next(border);
    if (next != borders.end() && covered > *border) chunks.push_back({*border, *next - *border, 1});
  }
  return chunks;
}

}  // namespace

GroupPass::GroupPass(const Trace& trace, const Place& pass, const std::vector<WorldRank>& ranks)
    : trace_(trace), train_step_(pass.train_step), ranks_(ranks), rows_(ranks.size()) {
  for (const WorldRank rank : ranks_)
    schedules_.push_back(trace.schedule(pass.train_step, rank, pass.direction, pass.layer));
  cutSequence();
  too_many_ = chunks_.size() > kMostChunks;
  if (!too_many_) placeRows();
}

GroupRank GroupPass::rankSeat(WorldRank rank) const {
  const auto found = std::ranges::find(ranks_, rank);
  return found == ranks_.end() ? GroupRank::none() : GroupRank::of(found - ranks_.begin());
}

const ScheduleRecord* GroupPass::schedule(WorldRank rank) const {
  const GroupRank seat = rankSeat(rank);
  return seat.isNone() ? nullptr : schedules_[seat.index()];
}

bool GroupPass::recorded() const {
  return !schedules_.empty() && std::ranges::none_of(schedules_, [](auto* s) { return !s; });
}

const traces::StageRecord* GroupPass::stage(WorldRank rank, RingStep ring_step,
                                            WorldRank source) const {
  const ScheduleRecord* of_rank = schedule(rank);
  if (!of_rank) return nullptr;
  const auto found = std::ranges::find_if(of_rank->stages, [&](const auto& stage) {
    return stage.ring_step == ring_step && stage.source_rank == source;
  });
  return found == of_rank->stages.end() ? nullptr : &*found;
}

int GroupPass::ringSteps() const {
  int steps = 0;
  for (const ScheduleRecord* schedule : schedules_)
    if (schedule)
      for (const auto& stage : schedule->stages)
        steps = std::max(steps, stage.ring_step.value() + 1);
  return steps;
}

/// Returns the runs that a rank owns. With joined shards, the rows of its schedule belong to all
/// ranks that share heads; the rank owns the shard that was cut for it.
std::vector<ShardRun> GroupPass::ownRuns(WorldRank rank) const {
  const ScheduleRecord* of_rank = schedule(rank);
  if (!of_rank) return {};
  if (of_rank->ulysses.size() <= 1) return of_rank->rows;
  std::vector<ShardRun> runs;
  for (const char* buffer : {"input_ids", "q"}) {
    const auto* shard = trace_.findShard(buffer, train_step_, rank);
    if (!shard || !shard->sharded) continue;
    // A strided shard was recorded token by token.
    if (!of_rank->rows.empty() && isStrided(of_rank->rows.front())) {
      for (const ShardRun& row : of_rank->rows)
        if (!shard->global_from_local.empty() &&
            shard->global_from_local.front().begin == row.begin)
          runs.push_back(row);
      return runs;
    }
    for (const auto& run : shard->global_from_local)
      if (run.end > run.begin) runs.push_back({run.begin, run.end - run.begin, 1});
    return runs;
  }
  return runs;
}

void GroupPass::cutSequence() {
  std::vector<ShardRun> runs;
  bool strided = false;
  for (const ScheduleRecord* schedule : schedules_)
    if (schedule)
      for (const ShardRun& run : schedule->rows) {
        if (run.count > 0) runs.push_back(run);
        strided = strided || isStrided(run);
      }
  if (strided) {
    std::ranges::sort(runs, {}, &ShardRun::begin);
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    chunks_ = std::move(runs);
    return;
  }
  for (const WorldRank rank : ranks_)
    for (const ShardRun& run : ownRuns(rank)) runs.push_back(run);
  std::set<std::int64_t> borders;
  for (const ShardRun& run : runs) borders.insert({run.begin, run.begin + run.count});
  chunks_ = cutAt(borders, std::move(runs));
}

/// Adds the local rows of a run that begins at local row `at`, by chunks.
void GroupPass::addChunks(const ShardRun& run, std::int64_t at, std::vector<LocalRun>& to) const {
  const auto first = std::ranges::lower_bound(chunks_, run.begin, {}, &ShardRun::begin);
  if (isStrided(run)) {
    const auto chunk = std::find(first, chunks_.end(), run);
    if (chunk != chunks_.end())
      to.push_back({at, at + run.count, static_cast<int>(chunk - chunks_.begin())});
    return;
  }
  for (auto chunk = first; chunk != chunks_.end() && chunk->begin < run.begin + run.count;
       ++chunk) {
    const std::int64_t begin = at + chunk->begin - run.begin;
    const std::int64_t end = std::min(begin + chunk->count, at + run.count);
    to.push_back({begin, end, static_cast<int>(chunk - chunks_.begin())});
  }
}

void GroupPass::placeRows() {
  std::size_t placed = 0;
  for (std::size_t seat = 0; seat < ranks_.size() && !too_many_; ++seat) {
    if (!schedules_[seat]) continue;
    std::int64_t at = 0;
    for (const ShardRun& run : schedules_[seat]->rows) {
      addChunks(run, at, rows_[seat]);
      at += run.count;
      too_many_ = placed + rows_[seat].size() > kMostRuns;
      if (too_many_) break;
    }
    placed += rows_[seat].size();
  }
  if (too_many_) rows_.assign(ranks_.size(), {});
}

const std::vector<LocalRun>& GroupPass::rows(WorldRank rank) const {
  static const std::vector<LocalRun> kNone;
  const GroupRank seat = rankSeat(rank);
  return seat.isNone() ? kNone : rows_[seat.index()];
}

std::vector<int> GroupPass::ownedChunks(WorldRank rank) const {
  std::vector<LocalRun> owned;
  if (!too_many_)
    for (const ShardRun& run : ownRuns(rank)) addChunks(run, 0, owned);
  std::vector<int> chunks;
  chunks.reserve(owned.size());
  for (const LocalRun& run : owned) chunks.push_back(run.chunk);
  std::ranges::sort(chunks);
  return chunks;
}

std::int64_t GroupPass::localRow(WorldRank rank, TokenIndex token) const {
  const ScheduleRecord* of_rank = schedule(rank);
  std::int64_t at = 0;
  if (of_rank)
    for (const ShardRun& run : of_rank->rows) {
      const std::int64_t ahead = token.value() - run.begin;
      if (ahead >= 0 && ahead % run.stride == 0 && ahead / run.stride < run.count)
        return at + ahead / run.stride;
      at += run.count;
    }
  return -1;
}

int headsSharedBy(const GroupPass& pass) {
  const ScheduleRecord* first = pass.ranks().empty() ? nullptr : pass.schedule(pass.ranks()[0]);
  const auto shared = first ? std::max<std::size_t>(1, first->ulysses.size()) : 1;
  return static_cast<int>(std::min(shared, std::max<std::size_t>(1, pass.ranks().size())));
}

void addCells(std::vector<CoverageCell>& cells, const Band& band,
              const std::vector<LocalRun>& queries, const std::vector<LocalRun>& keys,
              WorldRank source, bool now) {
  for (const LocalRun& q : queries) {
    if (q.begin >= band.q_end || q.end <= band.q_begin) continue;
    for (const LocalRun& k : keys) {
      const Band part = band.within(q.begin, q.end, k.begin, k.end);
      if (part.empty()) continue;
      const auto known = std::ranges::find_if(cells, [&](const CoverageCell& c) {
        return c.query_chunk == q.chunk && c.key_chunk == k.chunk && c.now == now &&
               c.source_rank == source;
      });
      if (known == cells.end())
        cells.push_back({q.chunk, k.chunk, source, part.cutAbove(), now});
      else
        known->diagonal = known->diagonal || part.cutAbove();
    }
  }
}

std::string describeCells(const std::vector<CoverageCell>& cells) {
  std::vector<int> queries, keys;
  for (const auto& cell : cells) {
    if (!cell.now) continue;
    queries.push_back(cell.query_chunk);
    keys.push_back(cell.key_chunk);
  }
  return queries.empty() ? ""
                         : "queries " + listedNumbers(queries) + " × keys " + listedNumbers(keys);
}

std::string listedNumbers(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;  // three or more in a row are told as a range
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last >= i + 2) text += "–" + std::to_string(numbers[i = last]);
  }
  return text;
}

std::string listedRanks(const std::vector<WorldRank>& ranks) {
  std::vector<int> numbers;
  numbers.reserve(ranks.size());
  for (const WorldRank rank : ranks) numbers.push_back(rank.value());
  return listedNumbers(std::move(numbers));
}

}  // namespace ringscope::viz
