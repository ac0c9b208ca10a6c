// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/block_attention.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

at::Tensor queryRows(const at::Tensor& t, const Piece& piece) {
  return t.slice(2, piece.q_begin, piece.q_end);
}
at::Tensor keyRows(const at::Tensor& t, const Piece& piece) {
  return t.slice(2, piece.k_begin, piece.k_end);
}

bool isCausal(const Piece& piece) {
  TORCH_CHECK(piece.mask == traces::PieceMask::kFull || piece.mask == traces::PieceMask::kCausal,
              "no kernel for a piece with mask ", traces::name(piece.mask));
  return piece.mask == traces::PieceMask::kCausal;
}

}  // namespace

AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, double scale) {
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      queryRows(q, piece), keyRows(k, piece), keyRows(v, piece), 0.0, isCausal(piece), {}, scale);
  return {out, lse};
}

AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       double scale) {
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      queryRows(dout, piece), queryRows(q, piece), keyRows(k, piece), keyRows(v, piece),
      queryRows(merged.out, piece), queryRows(merged.lse, piece), 0.0, isCausal(piece), {}, scale);
  return {dq, dk, dv};
}

Piece DeviceAttention::wholePiece(std::int64_t rows) const {
  return {0, rows, 0, rows,
          mask_ == Mask::kCausal ? traces::PieceMask::kCausal : traces::PieceMask::kFull};
}

AttentionResult DeviceAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v, int) {
  return attendPiece(q, k, v, wholePiece(q.size(2)), scale_);
}

AttentionGradients DeviceAttention::backward(const at::Tensor& dout, const at::Tensor& q,
                                             const at::Tensor& k, const at::Tensor& v,
                                             const AttentionResult& result, int) {
  return attendPieceBackward(dout, q, k, v, result, wholePiece(q.size(2)), scale_);
}

}  // namespace ringscope::engine
