// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/attention/attention_op.h"
#include "engine/attention/pieces.h"

namespace ringscope::engine {

/// Attention of the query rows of one piece to its keys, by ATen's flash operator of the device
/// (on a GPU for bf16 and fp16 without tile mask; the rest there is plain_attention's).
/// q: [B, Hq, S, D] (whole shard); k, v: [B, Hkv, S_k, D] (whole block). Returns out of the piece's
/// rows in q's type and lse in fp32 (fp64 for fp64 inputs); out 0 and lse -inf where a tile mask
/// leaves a row without a key. The kernel rounds out, and in backward the gradients, to its inputs'
/// type; where a row is put together from many small pieces, as documents and windows make them,
/// those roundings add up to more than one device's, and `small_in_float` computes bf16 and fp16
/// pieces that are small in fp32.
AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, double scale, bool small_in_float = false);

/// Gradients of one piece, given the merged out and lse of the whole row: with those, the parts of
/// all pieces add up exactly (FlashAttention-2, section 3.1). dq covers the piece's query rows,
/// dk and dv its key rows. The kernel rounds them to its inputs' type; where a row's gradient is
/// put together from many small pieces, as documents and windows make them, those roundings add up
/// to more than one device's, and `small_in_float` computes bf16 and fp16 pieces that are small in
/// fp32.
AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       double scale, bool small_in_float = false);

/// Attention of a whole sequence on one device: what a run without context parallelism computes.
class DeviceAttention : public AttentionOp {
 public:
  /// `fp8`: q, k and v are rounded to e4m3 first. `sinks`: [Hq], or undefined.
  DeviceAttention(Mask mask, double scale, bool fp8 = false, at::Tensor sinks = {})
      : mask_(std::move(mask)), scale_(scale), fp8_(fp8), sinks_(std::move(sinks)) {}
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  AttentionResult withoutSinks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  std::vector<Piece> pieces(std::int64_t rows) const;
  at::Tensor rounded(const at::Tensor& t) const;
  Mask mask_;
  double scale_;
  bool fp8_;
  at::Tensor sinks_;
};

}  // namespace ringscope::engine
