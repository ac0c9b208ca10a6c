// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/block_attention.h"

#include <ATen/ATen.h>

#include "engine/attention/fp8.h"
#include "engine/attention/merge.h"
#include "engine/attention/plain_attention.h"
#include "engine/attention/sinks.h"

namespace ringscope::engine {
namespace {

at::Tensor queryRows(const at::Tensor& t, const Piece& piece) {
  return t.slice(2, piece.q_begin, piece.q_end);
}
at::Tensor keyRows(const at::Tensor& t, const Piece& piece) {
  return t.slice(2, piece.k_begin, piece.k_end);
}

bool isCausal(const Piece& piece) {
  return piece.mask == traces::PieceMask::kCausal;
}

/// What a tile mask adds to scores: 0 where it allows a pair, -inf elsewhere; [1, 1, rows, keys],
/// which is as little as the kernel takes. Nothing for other pieces.
std::optional<at::Tensor> additiveMask(const Piece& piece, at::ScalarType type) {
  if (piece.mask != traces::PieceMask::kTileMask) return std::nullopt;
  return atRefusedPairs(piece, -std::numeric_limits<double>::infinity(), type)
      .unsqueeze(0)
      .unsqueeze(0);
}

/// The kernel's answer for a row whose keys are all masked is out 0 or NaN with lse 0, -inf or
/// +inf, by type and version; here it is out 0 and lse -inf.
void clearRowsWithoutKeys(AttentionResult& block, const at::Tensor& mask) {
  const at::Tensor empty = at::isneginf(mask[0][0]).all(-1);  // [rows]
  block.out.masked_fill_(empty.view({1, 1, -1, 1}), 0);
  block.lse.masked_fill_(empty.view({1, 1, -1}), -std::numeric_limits<double>::infinity());
}

bool isSmall(const at::Tensor& q, const Piece& piece) {
  constexpr std::int64_t kSmallPiece = 128 * 128;
  const bool reduced = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  return reduced && (piece.q_end - piece.q_begin) * (piece.k_end - piece.k_begin) <= kSmallPiece;
}

/// What CUDA's flash operator takes: half types, no mask of its own, head sizes that divide by 8.
bool flashOnGpu(const at::Tensor& q, const Piece& piece) {
  const bool half = q.scalar_type() == at::kBFloat16 || q.scalar_type() == at::kHalf;
  return half && piece.mask != traces::PieceMask::kTileMask && q.size(3) % 8 == 0 &&
         q.size(3) <= 256;
}

AttentionResult attendPieceOnGpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Piece& piece, double scale) {
  if (!flashOnGpu(q, piece)) return attendPiecePlain(q, k, v, piece, scale);
  const auto result = at::_scaled_dot_product_flash_attention(queryRows(q, piece),
                                                              keyRows(k, piece), keyRows(v, piece),
                                                              0.0, isCausal(piece), false, scale);
  return {std::get<0>(result), std::get<1>(result)};
}

AttentionGradients attendPieceBackwardOnGpu(const at::Tensor& dout, const at::Tensor& q,
                                            const at::Tensor& k, const at::Tensor& v,
                                            const AttentionResult& merged, const Piece& piece,
                                            double scale) {
  if (!flashOnGpu(q, piece)) return attendPiecePlainBackward(dout, q, k, v, merged, piece, scale);
  const at::Tensor no_lengths;  // all sequences of a batch are equally long
  const at::Tensor no_random_state = at::zeros({}, q.options().dtype(at::kLong));
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_backward(
      queryRows(dout, piece), queryRows(q, piece), keyRows(k, piece), keyRows(v, piece),
      queryRows(merged.out, piece), queryRows(merged.lse, piece).contiguous(), no_lengths,
      no_lengths, piece.q_end - piece.q_begin, piece.k_end - piece.k_begin, 0.0, isCausal(piece),
      no_random_state, no_random_state, scale);
  return {dq, dk, dv};
}

}  // namespace

AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, double scale, bool small_in_float) {
  if (q.is_cuda()) return attendPieceOnGpu(q, k, v, piece, scale);
  const at::ScalarType type = small_in_float && isSmall(q, piece) ? at::kFloat : q.scalar_type();
  const auto mask = additiveMask(piece, type);
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      queryRows(q, piece).to(type), keyRows(k, piece).to(type), keyRows(v, piece).to(type), 0.0,
      isCausal(piece), mask, scale);
  AttentionResult block{out, lse};
  if (piece.hasEmptyRow()) clearRowsWithoutKeys(block, *mask);
  return block;
}

AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       double scale, bool small_in_float) {
  if (q.is_cuda()) return attendPieceBackwardOnGpu(dout, q, k, v, merged, piece, scale);
  const at::ScalarType type = small_in_float && isSmall(q, piece) ? at::kFloat : q.scalar_type();
  const auto mask = additiveMask(piece, type);
  at::Tensor lse = queryRows(merged.lse, piece);
  // A row without any key has lse -inf, and exp(-inf - -inf) would be NaN; with 0 it is exp(-inf).
  if (mask) lse = lse.masked_fill(at::isneginf(lse), 0);
  auto rows = [&](const at::Tensor& t) { return queryRows(t, piece).to(type); };
  auto keys = [&](const at::Tensor& t) { return keyRows(t, piece).to(type); };
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      rows(dout), rows(q), keys(k), keys(v), rows(merged.out), lse, 0.0, isCausal(piece), mask,
      scale);
  return {dq, dk, dv};
}

at::Tensor DeviceAttention::rounded(const at::Tensor& t) const {
  return fp8_ ? roundedToFp8(t) : t;
}

/// The same pieces as one rank that owns everything.
std::vector<Piece> DeviceAttention::pieces(std::int64_t rows) const {
  return piecesFor(ShardLayout(rows, 1, Balance::kNone), mask_, GroupRank::of(0), GroupRank::of(0));
}

AttentionResult DeviceAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v, Layer) {
  AttentionResult result = withoutSinks(rounded(q), rounded(k), rounded(v));
  applySinks(result, sinks_);
  return {result.out.to(q.scalar_type()), result.lse};
}

/// out in q's type where one call covers all rows, else in the type of the merges.
AttentionResult DeviceAttention::withoutSinks(const at::Tensor& q, const at::Tensor& k,
                                              const at::Tensor& v) const {
  const auto all = pieces(q.size(2));
  if (all.size() == 1 && all.front().q_end - all.front().q_begin == q.size(2))
    return attendPiece(q, k, v, all.front(), scale_);
  RunningResult running = emptyRunningResult(q);
  for (const Piece& piece : all)
    mergeBlock(running, attendPiece(q, k, v, piece, scale_), piece.q_begin);
  return running;
}

AttentionGradients DeviceAttention::backward(const at::Tensor& dout, const at::Tensor& q_in,
                                             const at::Tensor& k_in, const at::Tensor& v_in,
                                             const AttentionResult& result, Layer) {
  const at::Tensor q = rounded(q_in), k = rounded(k_in), v = rounded(v_in);
  const auto all = pieces(q.size(2));
  if (all.size() == 1 && all.front().q_end - all.front().q_begin == q.size(2))
    return attendPieceBackward(dout, q, k, v, result, all.front(), scale_);
  const auto type = q.scalar_type(), sums = type == at::kDouble ? at::kDouble : at::kFloat;
  auto zeros = [&](const at::Tensor& like) {
    return at::zeros(like.sizes(), like.options().dtype(sums));
  };
  const at::Tensor dq = zeros(q), dk = zeros(k), dv = zeros(v);
  for (const Piece& piece : all) {
    const auto part = attendPieceBackward(dout, q, k, v, result, piece, scale_);
    dq.slice(2, piece.q_begin, piece.q_end).add_(part.dq);
    dk.slice(2, piece.k_begin, piece.k_end).add_(part.dk);
    dv.slice(2, piece.k_begin, piece.k_end).add_(part.dv);
  }
  return {dq.to(type), dk.to(type), dv.to(type)};
}

}  // namespace ringscope::engine
