// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/mistakes/seams.h"
#include "traces/format/schema/band.h"

namespace ringscope::engine {
namespace {

/// Local rows [begin, end) whose positions follow each other.
using Rows = std::vector<TokenRun>;

Rows withoutJumps(const std::vector<ShardRun>& shard) {
  Rows rows;
  std::int64_t row = 0, next = -1;
  for (const ShardRun& run : shard)
    for (std::int64_t i = 0; i < run.count; ++i, ++row) {
      if (run.global(i) != next) rows.push_back({row, row});
      rows.back().end = row + 1;
      next = run.global(i) + 1;
    }
  return rows;
}

/// The part of a piece in the rows and keys of one inferred document.
Piece within(const Piece& piece, const TokenRun& rows) {
  const auto band = traces::Band::of(piece);
  const auto part = band.within(rows.begin, rows.end, rows.begin, rows.end);
  const bool is_full = piece.mask == traces::PieceMask::kFull;
  Piece cut{part.q_begin, part.q_end, part.k_begin, part.k_end};
  if (is_full || part.full()) return cut;
  if (piece.mask == traces::PieceMask::kCausal && part.q_begin == part.k_begin &&
      part.q_end == part.k_end && band.high == 0)
    cut.mask = traces::PieceMask::kCausal;
  else {
    cut.mask = traces::PieceMask::kTileMask;
    cut.band_low = std::max(part.low, part.k_begin - part.q_end);
    cut.band_high = std::min(part.high, part.k_end - part.q_begin);
  }
  return cut;
}

}  // namespace

/// The attention function infers packed documents from the positions of the rank's tokens: where
/// they jump, as between a head and a tail chunk, it takes a new document to begin, and uses that
/// mask for the block of every rank.
void injectPositionsReadAsDocuments(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           const Rows documents = withoutJumps(plan.layout.shard(schedule.rank));
           if (documents.size() < 2) return;
           for (RingStage& stage : schedule.stages) {
             std::vector<Piece> pieces;
             for (const Piece& piece : stage.pieces)
               for (const TokenRun& rows : documents) {
                 const Piece part = within(piece, rows);
                 const bool any = part.q_begin < part.q_end && part.k_begin < part.k_end;
                 if (any && part.work() > 0) pieces.push_back(part);
               }
             stage.pieces = std::move(pieces);
           }
         });
}

}  // namespace ringscope::engine
