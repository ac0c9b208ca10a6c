// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

using traces::Kernel;

/// Attends the query rows of one piece to its keys. q: [B, Hq, S, D] (whole shard); k, v:
/// [B, Hkv, S_k, D] (whole block). Returns out for the piece's rows in q's type, and lse in fp32
/// (fp64 for fp64 inputs). A row that a tile mask leaves without a key has out 0 and lse -inf.
///
/// With auto, `kernel` is ATen's flash operator on a CPU. On a GPU it is the flash operator for
/// bf16 and fp16, and else the memory-efficient operator. Pieces that neither supports on a GPU
/// (fp64, tile masks, odd head sizes), and scores with a softcap on every device, use
/// plain_attention. Throws usageError if a named kernel does
/// not support the piece. run_rules.h knows the supported pieces beforehand, except for head sizes.
///
/// The kernel rounds its results to its inputs' type. Documents and windows can split a row into
/// many small pieces, whose roundings add up to more than one device's. With `small_in_float`,
/// small bf16 and fp16 pieces are therefore computed in fp32.
AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, const ScoreRule& rule, bool small_in_float = false,
                            Kernel kernel = Kernel::kAuto);

/// Computes the gradients of one piece from the merged out and lse of the whole rows. The gradients
/// of all pieces then add up exactly (FlashAttention-2, section 3.1). dq covers the piece's query
/// rows, and dk and dv its key rows. Rounding and `small_in_float` are as for attendPiece().
AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       const ScoreRule& rule, bool small_in_float = false,
                                       Kernel kernel = Kernel::kAuto);

/// Functions that attend one piece, or compute its gradients.
using AttendOne = std::function<AttentionResult(const Piece& piece, traces::PieceIndex index)>;
using AttendOneBackward =
    std::function<AttentionGradients(const Piece& piece, traces::PieceIndex index)>;
/// Attends a whole sequence by its pieces. A single piece that covers all rows is returned
/// unchanged; several pieces are merged. out is in the kernel's type, or in the type of the merges.
AttentionResult attendWhole(const at::Tensor& q, const std::vector<Piece>& pieces,
                            const AttendOne& attend);
/// Computes the gradients of a whole sequence, in the kernel's type or in the type of the sums.
AttentionGradients attendWholeBackward(const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const std::vector<Piece>& pieces,
                                       const AttendOneBackward& attend);

/// Attention of a whole sequence on one device, as a run without context parallelism computes it.
class DeviceAttention : public AttentionOp {
 public:
  /// Makes the operator. With `fp8`, q, k and v are first rounded to e4m3. `sinks`: [Hq], or
  /// undefined.
  DeviceAttention(Mask mask, const ScoreRule& rule, bool fp8 = false, at::Tensor sinks = {},
                  Kernel kernel = Kernel::kAuto)
      : mask_(std::move(mask)), rule_(rule), fp8_(fp8), kernel_(kernel) {
    sinks_ = std::move(sinks);
  }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  std::vector<Piece> pieces(std::int64_t rows) const;
  at::Tensor rounded(const at::Tensor& t) const;
  Mask mask_;
  ScoreRule rule_;
  bool fp8_;
  Kernel kernel_;
};

}  // namespace ringscope::engine
