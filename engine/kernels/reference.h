// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"
#include "engine/tensors/vector_maths.h"

namespace ringscope::engine {

/// Returns [rows, keys] on the CPU: true for pairs that the mask excludes. Query rows start at
/// `first_row` and keys at 0. Each pair is checked with Mask::allows; pieces are not used.
at::Tensor refusedByMask(const Mask& mask, std::int64_t first_row, std::int64_t rows,
                         std::int64_t keys);

/// Attention in fp64 over the whole sequence: softmax(score(q·kᵀ) + mask)·v and its derivative. It
/// is the reference of every comparison and shares no code with the strategies. It works on blocks
/// of query rows, so its memory is O(rows · S) instead of O(S²).
class ReferenceAttention : public AttentionOp {
 public:
  /// Makes the reference. `sinks`: [Hq], or undefined.
  ReferenceAttention(Mask mask, const ScoreRule& rule, at::Tensor sinks = {})
      : mask_(std::move(mask)), rule_(rule) {
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
  ScoreRule rule_;
};

}  // namespace ringscope::engine
