// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/blocked_attention.h"

#include <ATen/ATen.h>

#include "engine/kernels/block_attention.h"
#include "engine/kernels/fp8.h"
#include "engine/kernels/sinks.h"
#include "engine/plan.h"

namespace ringscope::engine {
namespace {

at::Tensor permuted(const at::Tensor& t, const std::vector<std::int64_t>& order) {
  return t.index_select(2, at::tensor(order, at::kLong).to(t.device()));
}

/// A piece of two shards as one of the sequences that they begin in at `q_at` and `k_at`.
Piece movedBy(Piece piece, std::int64_t q_at, std::int64_t k_at) {
  piece.q_begin += q_at;
  piece.q_end += q_at;
  piece.k_begin += k_at;
  piece.k_end += k_at;
  if (piece.mask == traces::PieceMask::kTileMask) {
    piece.band_low += k_at - q_at;
    piece.band_high += k_at - q_at;
  }
  return piece;
}

}  // namespace

BlockedAttention::BlockedAttention(const ShardLayout& layout, const Mask& mask,
                                   const ScoreRule& rule, bool fp8)
    : by_rank_(layout.rearrange()), in_order_(layout.restore()), rule_(rule), fp8_(fp8) {
  std::vector<RingSchedule> schedules;
  for (const GroupRank rank : everyRank(layout.cpSize()))
    schedules.push_back(ringSchedule(layout, mask, rank));
  const std::int64_t length = layout.localLength();
  for (std::size_t step = 0; step < schedules.size(); ++step)
    for (const RingSchedule& schedule : schedules) {
      const RingStage& stage = schedule.stages[step];
      for (const Piece& piece : stage.pieces)
        pieces_.push_back(
            movedBy(piece, schedule.rank.value() * length, stage.source_rank.value() * length));
    }
}

at::Tensor BlockedAttention::byRank(const at::Tensor& t) const {
  return permuted(fp8_ ? roundedToFp8(t) : t, by_rank_);
}

at::Tensor BlockedAttention::inOrder(const at::Tensor& t) const {
  return permuted(t, in_order_);
}

AttentionResult BlockedAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                          const at::Tensor& v, Layer) {
  const at::Tensor queries = byRank(q), keys = byRank(k), values = byRank(v);
  AttentionResult result =
      attendWhole(queries, pieces_, [&](const Piece& piece, traces::PieceIndex) {
        return attendPiece(queries, keys, values, piece, rule_, true);
      });
  applySinks(result, sinks_);
  return {inOrder(result.out.to(q.scalar_type())), inOrder(result.lse)};
}

AttentionGradients BlockedAttention::backward(const at::Tensor& dout, const at::Tensor& q,
                                              const at::Tensor& k, const at::Tensor& v,
                                              const AttentionResult& result, Layer) {
  const at::Tensor queries = byRank(q), keys = byRank(k), values = byRank(v),
                   gradient = permuted(dout, by_rank_);
  const AttentionResult merged{permuted(result.out, by_rank_), permuted(result.lse, by_rank_)};
  const AttentionGradients g = attendWholeBackward(
      queries, keys, values, pieces_, [&](const Piece& piece, traces::PieceIndex) {
        return attendPieceBackward(gradient, queries, keys, values, merged, piece, rule_, true);
      });
  const auto type = q.scalar_type();
  return {inOrder(g.dq.to(type)), inOrder(g.dk.to(type)), inOrder(g.dv.to(type))};
}

}  // namespace ringscope::engine
