// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/block_worker.h"
#include "engine/attention/strategies/context_parallel_op.h"

namespace ringscope::engine {

/// Context parallelism over one rank: nothing moves, nothing is packed for the way, nothing is
/// merged. Bit for bit what DeviceAttention gives.
class WholeAttention : public ContextParallelOp {
 public:
  WholeAttention(RankContext& context, const ShardLayout& layout, const Mask& mask,
                 const Softmax& softmax, bool fp8);

  std::int64_t work() const override { return schedule_.work(); }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  /// In the type of the kernel where one piece is the whole sequence: nothing is summed then.
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
