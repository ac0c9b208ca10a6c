// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/attention_op.h"
#include "engine/attention/pieces.h"

namespace ringscope::engine {

/// Attention of the query rows of one piece to its keys, by ATen's flash operator for CPU.
/// q: [B, Hq, S, D] (whole shard); k, v: [B, Hkv, S_k, D] (whole block). Returns out of the piece's
/// rows in q's type and lse in fp32 (fp64 for fp64 inputs).
AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, double scale);

/// Gradients of one piece, given the merged out and lse of the whole row: with those, the parts of
/// all pieces add up exactly (FlashAttention-2, section 3.1). dq covers the piece's query rows,
/// dk and dv its key rows.
AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       double scale);

/// Attention of a whole sequence on one device: what a run without context parallelism computes.
class DeviceAttention : public AttentionOp {
 public:
  DeviceAttention(Mask mask, double scale) : mask_(mask), scale_(scale) {}
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          int layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              int layer) override;

 private:
  Piece wholePiece(std::int64_t rows) const;
  Mask mask_;
  double scale_;
};

}  // namespace ringscope::engine
