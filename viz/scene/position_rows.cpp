// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/position_rows.h"

#include <algorithm>

#include "traces/format/core/whole_number.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/recorder_request.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/meant.h"

namespace ringscope::viz {
namespace {

/// Adds the runs of one chunk of a shard. A run ends where positions stop rising by one, or turn
/// right or wrong. `meant` may be null: then no run is wrong.
void addChunk(PositionRow& row, const std::vector<double>& positions, std::size_t offset,
              const traces::TokenRun& chunk, const Meant* meant) {
  PositionRun run;
  for (std::int64_t i = 0; i < chunk.end - chunk.begin; ++i) {
    const auto position = traces::wholeNumber(positions[offset + static_cast<std::size_t>(i)]);
    const auto should =
        meant ? meant->tokenPosition(TokenIndex::of(chunk.begin + i)) : std::nullopt;
    const bool wrong = should && position != *should;
    if (run.tokens > 0 && (wrong != run.wrong || position != run.last + 1)) {
      row.runs.push_back(run);
      run = {};
    }
    if (run.tokens == 0) run = {0, position, position, should.value_or(position), wrong};
    run.last = position;
    ++run.tokens;
  }
  if (run.tokens > 0) row.runs.push_back(run);
}

}  // namespace

std::string PositionStrip::verdict() const {
  if (all == 0) return "not recorded; " + advice;
  if (!unknown.empty()) return unknown;
  std::string missing;
  if (!complete()) {
    const auto without = std::ranges::count_if(rows, [](auto& row) { return row.runs.empty(); });
    missing = "; those of " + std::to_string(without) + " of " + std::to_string(rows.size()) +
              " ranks are not recorded";
  }
  if (wrong > 0)
    return "▲ " + std::to_string(wrong) + " of " + std::to_string(all) + " position ids " +
           (wrong == 1 ? "differs" : "differ") + missing;
  const std::string right = std::to_string(all) + " as they should be";
  return missing.empty() ? "✓ all " + right : right + missing;
}

bool PositionStrip::complete() const {
  return !rows.empty() && std::ranges::none_of(rows, [](auto& row) { return row.runs.empty(); });
}

PositionStrip makePositionStrip(const traces::Trace& trace, const Cursor& cursor) {
  PositionStrip strip;
  const int train_step = cursor.place.train_step;
  const auto ranks = groupRanks(trace, cursor.group);
  const Meant meant(trace, train_step, ranks);
  strip.unknown = cursor.sealed ? kSealedWords : meant.positionsMissing();
  strip.advice = traces::captureAdvice(trace, "stats", "would show them");
  bool seen = false;
  for (const WorldRank rank : ranks) {
    PositionRow row{rank, {}};
    const auto* tensor = trace.findTensor({traces::TensorKind::kPositionIds}, {train_step}, rank);
    const auto* shard = trace.findShard("input_ids", train_step, rank);
    const auto values = tensor ? trace.values(*tensor) : std::nullopt;
    seen = seen || tensor;
    if (values && shard) {
      std::size_t offset = 0;
      for (const auto& chunk : shard->global_from_local) {
        const auto size = static_cast<std::size_t>(chunk.end - chunk.begin);
        if (offset + size > values->size()) break;
        addChunk(row, *values, offset, chunk,
                 cursor.sealed ? nullptr : &meant);  // the first sequence of the batch
        offset += size;
      }
    }
    for (const PositionRun& run : row.runs) {
      strip.wrong += run.wrong ? run.tokens : 0;
      strip.all += run.tokens;
    }
    strip.rows.push_back(std::move(row));
  }
  if (!seen && traces::recorderRequest(trace))
    strip.advice = "ringscope.record(…) saw no position ids among the arguments of the model";
  if (trace.run() && trace.run()->command == traces::Command::kAttend)
    strip.advice = "attend has no position ids";
  return strip;
}

}  // namespace ringscope::viz
