// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"
#include "engine/tensors/vector_maths.h"

namespace ringscope::engine {

/// True where the mask refuses a pair, pair by pair as Mask::allows says; nothing here knows of
/// pieces. [rows, keys] on the CPU: query rows from `first_row` on, keys from 0 on.
at::Tensor refusedByMask(const Mask& mask, std::int64_t first_row, std::int64_t rows,
                         std::int64_t keys);

/// Attention written down plainly in fp64, over the whole sequence: softmax(q·kᵀ·scale + mask)·v
/// and its derivative. The oracle of every comparison; shares no code with the strategies. Works
/// through blocks of query rows, so its memory is O(rows · S) and not O(S²).
class ReferenceAttention : public AttentionOp {
 public:
  /// `sinks`: [Hq], or undefined.
  ReferenceAttention(Mask mask, double scale, at::Tensor sinks = {})
      : mask_(std::move(mask)), scale_(scale) {
    settleVectorMaths();
    sinks_ = std::move(sinks);
  }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  at::Tensor scores(const at::Tensor& q_rows, const at::Tensor& k, std::int64_t first_row) const;
  Mask mask_;
  double scale_;
};

}  // namespace ringscope::engine
