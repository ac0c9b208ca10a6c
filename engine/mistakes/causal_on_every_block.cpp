// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

/// A rectangle with a causal mask that begins in its corner at the top left.
std::vector<Piece> madeCausal(const Piece& piece) {
  if (piece.mask != traces::PieceMask::kFull) return {piece};
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  const std::int64_t side = std::min(rows, keys);
  std::vector<Piece> parts = {{piece.q_begin, piece.q_begin + side, piece.k_begin,
                               piece.k_begin + side, traces::PieceMask::kCausal}};
  if (rows > side) parts.push_back({piece.q_begin + side, piece.q_end, piece.k_begin, piece.k_end});
  return parts;
}

}  // namespace

/// is_causal is set for blocks of other ranks too: of a block that should be attended whole, query
/// i sees the keys up to i only.
void injectCausalOnEveryBlock(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan&, RingSchedule& schedule) {
           for (RingStage& stage : schedule.stages) {
             std::vector<Piece> pieces;
             for (const Piece& piece : stage.pieces)
               for (const Piece& part : madeCausal(piece)) pieces.push_back(part);
             stage.pieces = std::move(pieces);
           }
         });
}

}  // namespace ringscope::engine
