// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

using traces::Kernel;

/// Attention of the query rows of one piece to its keys by `kernel`; auto is ATen's flash operator
/// of the device (on a GPU for bf16 and fp16), there else its memory-efficient one, and where
/// neither takes the piece (fp64, tile masks, odd head sizes) plain_attention. Throws usageError
/// where a named kernel does not take the piece: what it takes run_rules.h knows beforehand, save
/// head sizes. q: [B, Hq, S, D] (whole shard); k, v: [B, Hkv, S_k, D] (whole block). Returns out of
/// the piece's rows in q's type and lse in fp32 (fp64 for fp64 inputs); out 0 and lse -inf where a
/// tile mask leaves a row without a key. The kernel rounds out, and in backward the gradients, to
/// its inputs' type; where a row is put together from many small pieces, as documents and windows
/// make them, those roundings add up to more than one device's, and `small_in_float` computes bf16
/// and fp16 pieces that are small in fp32.
AttentionResult attendPiece(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Piece& piece, double scale, bool small_in_float = false,
                            Kernel kernel = Kernel::kAuto);

/// Gradients of one piece, given the merged out and lse of the whole row: with those, the parts of
/// all pieces add up exactly (FlashAttention-2, section 3.1). dq covers the piece's query rows,
/// dk and dv its key rows. The kernel rounds them to its inputs' type; where a row's gradient is
/// put together from many small pieces, as documents and windows make them, those roundings add up
/// to more than one device's, and `small_in_float` computes bf16 and fp16 pieces that are small in
/// fp32.
AttentionGradients attendPieceBackward(const at::Tensor& dout, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const AttentionResult& merged, const Piece& piece,
                                       double scale, bool small_in_float = false,
                                       Kernel kernel = Kernel::kAuto);

/// Attends one piece, or computes its gradients.
using AttendOne = std::function<AttentionResult(const Piece& piece, traces::PieceIndex index)>;
using AttendOneBackward =
    std::function<AttentionGradients(const Piece& piece, traces::PieceIndex index)>;
/// Attention of a whole sequence by its pieces: one that covers all rows is the result as it is,
/// several are merged. out is in the kernel's type, or in that of the merges.
AttentionResult attendWhole(const at::Tensor& q, const std::vector<Piece>& pieces,
                            const AttendOne& attend);
/// Its gradients, in the kernel's type or in that of the sums.
AttentionGradients attendWholeBackward(const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const std::vector<Piece>& pieces,
                                       const AttendOneBackward& attend);

/// Attention of a whole sequence on one device: what a run without context parallelism computes.
class DeviceAttention : public AttentionOp {
 public:
  /// `fp8`: q, k and v are rounded to e4m3 first. `sinks`: [Hq], or undefined.
  DeviceAttention(Mask mask, double scale, bool fp8 = false, at::Tensor sinks = {},
                  Kernel kernel = Kernel::kAuto)
      : mask_(std::move(mask)), scale_(scale), fp8_(fp8), kernel_(kernel) {
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
  double scale_;
  bool fp8_;
  Kernel kernel_;
};

}  // namespace ringscope::engine
