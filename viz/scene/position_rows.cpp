// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/position_rows.h"

#include "viz/scene/documents.h"

namespace ringscope::viz {
namespace {

/// The runs of one chunk of a shard: split where positions stop rising by one or turn right or
/// wrong.
void addChunk(PositionRow& row, const std::vector<double>& positions, std::size_t offset,
              const traces::TokenRun& chunk, const DocumentStarts& documents) {
  PositionRun run;
  for (std::int64_t i = 0; i < chunk.end - chunk.begin; ++i) {
    const auto position =
        static_cast<std::int64_t>(positions[offset + static_cast<std::size_t>(i)]);
    const std::int64_t should = documents.positionOf(chunk.begin + i);
    const bool wrong = position != should;
    if (run.tokens > 0 && (wrong != run.wrong || position != run.end + 1)) {
      row.runs.push_back(run);
      run = {};
    }
    if (run.tokens == 0) run = {0, position, position, should, wrong};
    run.end = position;
    ++run.tokens;
  }
  if (run.tokens > 0) row.runs.push_back(run);
}

}  // namespace

std::vector<PositionRow> positionRows(const traces::Trace& trace, int train_step) {
  std::vector<PositionRow> rows;
  const DocumentStarts documents(trace, train_step);
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    PositionRow row{rank, {}};
    const auto* tensor = trace.findTensor("position_ids", {train_step}, rank);
    const auto* shard = trace.findShard("input_ids", train_step, rank);
    const auto values = tensor ? trace.values(*tensor) : std::nullopt;
    if (values && shard) {
      std::size_t offset = 0;
      for (const auto& chunk : shard->global_from_local) {
        const auto size = static_cast<std::size_t>(chunk.end - chunk.begin);
        if (offset + size > values->size()) break;
        addChunk(row, *values, offset, chunk, documents);  // the first sequence of the batch
        offset += size;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::pair<std::int64_t, std::int64_t> wrongPositions(const std::vector<PositionRow>& rows) {
  std::pair<std::int64_t, std::int64_t> count{0, 0};
  for (const auto& row : rows)
    for (const auto& run : row.runs) {
      count.first += run.wrong ? run.tokens : 0;
      count.second += run.tokens;
    }
  return count;
}

}  // namespace ringscope::viz
