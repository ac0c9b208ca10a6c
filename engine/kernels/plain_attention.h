// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"
#include "engine/kernels/dropout.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// `value` at the pairs of a tile mask or causal piece that its mask refuses, 0 elsewhere:
/// [rows, keys], local to the piece.
at::Tensor atRefusedPairs(const Piece& piece, const at::Scalar& value, at::ScalarType type);

/// The gradient of the heads of k, or v, from that of copies of them, which follow each other:
/// [B, heads, keys, d].
at::Tensor perKeyHead(const at::Tensor& gradient, const at::Tensor& k);

/// Attention of one piece written with matrix products, a few rows at a time: for what no fused
/// kernel of the device offers (dropout; tile masks and fp32 on a GPU). Shapes and results as
/// attendPiece, with out in fp32 (fp64 for fp64 inputs). The rows of `dropout` are those of q and
/// k.
AttentionResult attendPiecePlain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Piece& piece, double scale, const Dropout& dropout = {},
                                 const PairPlaces& places = {});

/// As attendPieceBackward; gradients in fp32 (fp64 for fp64 inputs). The merged out holds what was
/// dropped, so rowsum(dout · out) is the right delta with dropout too.
AttentionGradients attendPiecePlainBackward(const at::Tensor& dout, const at::Tensor& q,
                                            const at::Tensor& k, const at::Tensor& v,
                                            const AttentionResult& merged, const Piece& piece,
                                            double scale, const Dropout& dropout = {},
                                            const PairPlaces& places = {});

}  // namespace ringscope::engine
