// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"
#include "engine/kernels/dropout.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// Returns [rows, keys], local to the piece: `value` at the pairs that a tile mask or causal piece
/// masks out, and 0 elsewhere.
at::Tensor atRefusedPairs(const Piece& piece, const at::Scalar& value, at::ScalarType type);

/// Returns the gradient of the heads of k (or v): the sum over the consecutive copies of each head
/// in `gradient`. The result is [B, heads, keys, d].
at::Tensor perKeyHead(const at::Tensor& gradient, const at::Tensor& k);

/// Attends one piece with matrix products, a few rows at a time. No fused kernel of the device
/// supports dropout or a softcap, and none of a GPU tile masks or fp64. Shapes and results are
/// those of attendPiece, with out in fp32 (fp64 for fp64 inputs). The rows of `places` are the rows
/// of q and k.
AttentionResult attendPiecePlain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Piece& piece, const ScoreRule& rule,
                                 const Dropout& dropout = {}, const PairPlaces& places = {});

/// Computes gradients like attendPieceBackward, in fp32 (fp64 for fp64 inputs). With dropout, the
/// merged out has the dropped pairs left out, so rowsum(dout · out) is the correct delta.
AttentionGradients attendPiecePlainBackward(const at::Tensor& dout, const at::Tensor& q,
                                            const at::Tensor& k, const at::Tensor& v,
                                            const AttentionResult& merged, const Piece& piece,
                                            const ScoreRule& rule, const Dropout& dropout = {},
                                            const PairPlaces& places = {});

}  // namespace ringscope::engine
