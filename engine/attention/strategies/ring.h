// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/attention_op.h"
#include "engine/attention/schedule.h"
#include "engine/train/rank_context.h"

namespace ringscope::engine {

/// Messages that one rank has sent, and their bytes.
struct HopTotals {
  int kv_forward = 0, kv_backward = 0, dkv_backward = 0;
  std::int64_t bytes_forward = 0, bytes_backward = 0;
};

/// Ring attention over the cp ranks (Liu et al. 2023, arXiv:2310.01889), rotate p2p: KV blocks go
/// round while each rank attends its queries to the block that it holds; in backward they go round
/// again with dK and dV, which are at home after cp hops, while dQ stays.
class RingAttention : public AttentionOp {
 public:
  /// `context` outlives this. `schedule` is that of the context's rank.
  RingAttention(RankContext& context, RingSchedule schedule, double scale);

  void setTrainStep(std::int32_t step) { train_step_ = step; }
  const HopTotals& hops() const { return hops_; }

  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          int layer) override;
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              int layer) override;

 private:
  traces::Place placeOf(const RingStage& stage, int layer, traces::Direction direction) const;
  void attendStage(const RingStage& stage, const traces::Place& place, const at::Tensor& q,
                   const at::Tensor& kv, RunningResult& running);
  void attendStageBackward(const RingStage& stage, const traces::Place& place,
                           const at::Tensor& dout, const at::Tensor& q, const at::Tensor& kv,
                           const AttentionResult& result, at::Tensor& dq, at::Tensor& dkv);
  void count(const TransferReport& sent, traces::Payload payload, traces::Direction direction);
  void finish(Exchange& exchange, traces::Payload payload, int source_rank,
              const traces::Place& place);

  RankContext& context_;
  RingSchedule schedule_;
  double scale_;
  std::int32_t train_step_ = 0;
  HopTotals hops_;
};

}  // namespace ringscope::engine
