// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/block_worker.h"
#include "engine/attention/strategies/context_parallel_op.h"

namespace ringscope::engine {

/// Context parallelism over one rank: nothing is sent, packed or merged. The results are bitwise
/// equal to DeviceAttention's.
class WholeAttention : public ContextParallelOp {
 public:
  WholeAttention(RankContext& context, const ShardLayout& layout, const Mask& mask,
                 const Softmax& softmax, bool fp8);

  std::int64_t work() const override { return schedule_.work(); }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  /// Computes gradients. If one piece covers the whole sequence, nothing is summed, and the
  /// gradients have the kernel's type.
  AttentionGradients backwardSums(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v, const AttentionResult& result,
                                  Layer layer) override;

 private:
  std::vector<Piece> piecesAt(const traces::Place& place);
  at::Tensor rounded(const at::Tensor& t) const;

  ShardLayout layout_;
  Mask mask_;
  bool fp8_;
  RingSchedule schedule_;
  BlockWorker worker_;
};

}  // namespace ringscope::engine
