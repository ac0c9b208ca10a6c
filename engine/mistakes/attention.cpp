// SPDX-License-Identifier: Apache-2.0
// Mistakes in which pairs and heads a rank attends, and in what backward works with.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "engine/kernels/block_attention.h"
#include "engine/mistakes/checked_as.h"
#include "engine/mistakes/seams.h"
#include "traces/format/schema/band.h"

namespace ringscope::engine {
namespace {

/// Replaces each piece of a schedule by the pieces that `change` makes of it.
template <typename Change>
void replacePieces(RingSchedule& schedule, Change change) {
  for (RingStage& stage : schedule.stages) {
    std::vector<Piece> pieces;
    for (const Piece& piece : stage.pieces)
      for (const Piece& part : change(piece)) pieces.push_back(part);
    stage.pieces = std::move(pieces);
  }
}

/// Makes every layer attend by another mask.
void attendBy(Seams& seams, void (*change)(Mask& mask)) {
  extend(seams.attention.schedule,
         [change](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           Mask mask = plan.mask;
           change(mask);
           schedule.attendBy(plan.layout, mask);
         });
}

/// Returns a rectangle with a causal mask that begins in its corner at the top left.
std::vector<Piece> madeCausal(const Piece& piece) {
  if (piece.mask != traces::PieceMask::kFull) return {piece};
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  const std::int64_t side = std::min(rows, keys);
  std::vector<Piece> parts = {{piece.q_begin, piece.q_begin + side, piece.k_begin,
                               piece.k_begin + side, traces::PieceMask::kCausal}};
  if (rows > side) parts.push_back({piece.q_begin + side, piece.q_end, piece.k_begin, piece.k_end});
  return parts;
}

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

/// is_causal is set for blocks of other ranks too: in a block that should be attended whole, query
/// i sees the keys up to i only.
void injectCausalOnEveryBlock(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan&, RingSchedule& schedule) {
           replacePieces(schedule, madeCausal);
         });
}

/// Blocks of other ranks are attended whole, later tokens in them too.
void injectNoSkipFutureBlock(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           const std::int64_t rows = plan.layout.localLength();
           for (RingStage& stage : schedule.stages)
             if (stage.source_rank != schedule.rank) stage.pieces = {Piece{0, rows, 0, rows}};
         });
}

/// The window does not reach the ring's kernels: every layer attends by the mask without it.
void injectMaskDropped(Seams& seams) {
  attendBy(seams, [](Mask& mask) { mask.window = 0; });
}

/// Attention does not get the borders of the documents that are packed into a sequence.
void injectDocumentsIgnored(Seams& seams) {
  attendBy(seams, [](Mask& mask) { mask.documents.clear(); });
}

/// The attention function infers packed documents from the positions of the rank's tokens. A new
/// document begins wherever they jump, as between a head and a tail chunk, and that mask is used
/// for the block of every rank.
void injectPositionsReadAsDocuments(Seams& seams) {
  extend(seams.attention.schedule,
         [](const SeamPlace&, const AttentionPlan& plan, RingSchedule& schedule) {
           const Rows documents = withoutJumps(plan.layout.shard(schedule.rank));
           if (documents.size() < 2) return;
           replacePieces(schedule, [&](const Piece& piece) {
             std::vector<Piece> parts;
             for (const TokenRun& rows : documents) {
               const Piece part = within(piece, rows);
               const bool any = part.q_begin < part.q_end && part.k_begin < part.k_end;
               if (any && part.work() > 0) parts.push_back(part);
             }
             return parts;
           });
         });
}

/// Skips the check that the ranks divide the heads: each rank takes heads ÷ ranks of them, rounded
/// down, and the last heads are on no rank.
void injectHeadsNotDivisible(Seams& seams) {
  checkAs(seams, traces::withHeadsThatDivide);
}

/// After the all-to-all each rank has the KV heads of the next rank's query heads.
void injectGqaGroupBroken(Seams& seams) {
  extend(seams.attention.heads, [](const SeamPlace&, HeadSplit& split) {
    std::rotate(split.kv_heads.begin(), split.kv_heads.begin() + 1, split.kv_heads.end());
  });
}

/// Attention is called without the scale, so its kernel takes 1/√(width of a head).
void injectAttentionScaleDropped(Seams& seams) {
  const auto changed = watchedFlag(seams, "attention_scale_dropped");
  extend(seams.attention.scores,
         [changed](const SeamPlace&, std::int64_t head_width, ScoreRule& rule) {
           const double by_width = 1 / std::sqrt(static_cast<double>(head_width));
           if (rule.scale != by_width) *changed = true;
           rule.scale = by_width;
         });
}

/// Attention takes scores as they are.
void injectSoftcapDropped(Seams& seams) {
  const auto changed = watchedFlag(seams, "softcap_dropped");
  extend(seams.attention.scores, [changed](const SeamPlace&, std::int64_t, ScoreRule& rule) {
    if (rule.softcap > 0) *changed = true;
    rule.softcap = 0;
  });
}

/// The random state of a layer is not kept, and backward draws another mask than forward did.
void injectDropoutRngReused(Seams& seams) {
  extend(seams.attention.dropout, [](const SeamPlace& at, Dropout& dropout) {
    if (at.place.direction == traces::Direction::kBackward) ++dropout.seed;
  });
}

/// A block's gradients are computed from its own out and lse, so delta and the weights are those of
/// the block alone.
void injectLocalDeltaInBackward(Seams& seams) {
  extend(seams.attention.backward, [](const SeamPlace&, BackwardInputs& in) {
    RunningResult own = emptyRunningResult(in.q);
    for (const Piece& piece : in.pieces)
      mergeBlock(own, attendPiece(in.q, in.k, in.v, piece, in.rule), piece.q_begin);
    in.result = {own.out.to(in.q.scalar_type()), own.lse};
  });
}

/// Activations are computed again in bf16, as outside of the autocast region of the forward pass.
void injectRecomputeDiffers(Seams& seams) {
  extend(seams.model.recomputed, [](const SeamPlace&, at::Tensor& q, at::Tensor& k, at::Tensor& v) {
    for (at::Tensor* t : {&q, &k, &v}) *t = t->to(at::kBFloat16).to(t->scalar_type());
  });
}

}  // namespace ringscope::engine
