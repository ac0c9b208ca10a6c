// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/token_rows.h"

#include "traces/format/trace/trace.h"

namespace ringscope::viz {

std::vector<traces::ShardRun> ownTokenRuns(const traces::Trace& trace, std::int32_t train_step,
                                           WorldRank rank) {
  const auto* schedule = trace.schedule(train_step, rank, traces::Direction::kForward);
  // Ranks that share heads attend rows of one another, so their schedules do not list their own.
  if (schedule && schedule->ulysses.size() <= 1 && !schedule->rows.empty()) return schedule->rows;
  for (const char* buffer : {"input_ids", "q"}) {
    const auto* shard = trace.findShard(buffer, train_step, rank);
    if (!shard) continue;
    std::vector<traces::ShardRun> runs;
    for (const traces::TokenRun& run : shard->global_from_local)
      runs.push_back({run.begin, run.end - run.begin, 1});
    return runs;
  }
  return {};
}

TokenIndex tokenAtRow(const traces::Trace& trace, std::int32_t train_step, WorldRank rank,
                      std::int64_t row) {
  for (const traces::ShardRun& run : ownTokenRuns(trace, train_step, rank)) {
    if (row < run.count) return TokenIndex::of(run.global(row));
    row -= run.count;
  }
  return TokenIndex::none();
}

std::optional<std::int64_t> findTokenRow(const traces::Trace& trace, std::int32_t train_step,
                                         WorldRank rank, TokenIndex token) {
  if (token.isNone()) return std::nullopt;
  std::int64_t before = 0;
  for (const traces::ShardRun& run : ownTokenRuns(trace, train_step, rank)) {
    const std::int64_t from_begin = token.value() - run.begin;
    if (run.stride > 0 && from_begin >= 0 && from_begin % run.stride == 0 &&
        from_begin / run.stride < run.count)
      return before + from_begin / run.stride;
    before += run.count;
  }
  return std::nullopt;
}

}  // namespace ringscope::viz
