// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/block_worker.h"
#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/attention/strategies/kv_wire.h"

namespace ringscope::engine {

/// Attention that gathers all ranks' K and V before it attends, and reduces dK and dV to their
/// owners after it (Llama 3, arXiv:2407.21783, section 3.3.2). It has one stage. The memory for KV
/// does not shrink with the number of ranks.
class AllGatherAttention : public ContextParallelOp {
 public:
  AllGatherAttention(RankContext& context, Group group, const ShardLayout& layout, const Mask& mask,
                     const Softmax& softmax, bool fp8);

  std::int64_t work() const override { return schedule_.work(); }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backwardSums(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v, const AttentionResult& result,
                                  Layer layer) override;

 private:
  /// Returns K and V of every rank of the group, [2, B, H, S, D] each.
  std::vector<at::Tensor> gather(const at::Tensor& k, const at::Tensor& v,
                                 const traces::Place& place);
  /// Sends each rank the gradients of its block, and adds up the received gradients of this rank's
  /// block in the order of ranks.
  at::Tensor reduce(const std::vector<at::Tensor>& parts, const traces::Place& place);

  Group group_;
  ShardLayout layout_;
  Mask mask_;
  bool fp8_;
  RingSchedule schedule_;
  BlockWorker worker_;
};

}  // namespace ringscope::engine
