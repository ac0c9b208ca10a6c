// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// Attention by one device that attends the blocks of a ring one after another. It merges their
/// results and adds up their gradients in the order of the ring's ranks. Its rounding errors are as
/// large as those of the ring, so they measure what rounding does to many blocks.
class BlockedAttention : public AttentionOp {
 public:
  /// `layout`: of the ring. `fp8`: q, k and v are rounded to e4m3 first.
  BlockedAttention(const ShardLayout& layout, const Mask& mask, const ScoreRule& rule, bool fp8);

  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;

 private:
  /// The tokens of all ranks, one rank after another, from a sequence in global order.
  at::Tensor byRank(const at::Tensor& t) const;
  at::Tensor inOrder(const at::Tensor& t) const;

  std::vector<std::int64_t> by_rank_, in_order_;
  std::vector<Piece> pieces_;  ///< of the sequence by_rank_
  ScoreRule rule_;
  bool fp8_;
};

}  // namespace ringscope::engine
