// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "engine/kernels/attention_op.h"
#include "engine/kernels/softmax.h"
#include "engine/plan.h"
#include "engine/rank/rank_context.h"
#include "engine/transport/group.h"

namespace ringscope::engine {

/// The number of messages that one rank has sent, and their bytes.
struct HopTotals {
  int kv_forward = 0, kv_backward = 0, dkv_backward = 0, heads_forward = 0, heads_backward = 0;
  std::int64_t bytes_forward = 0, bytes_backward = 0;
  std::int64_t wait_ns = 0;  ///< blocked until messages arrived: exposed communication

  void add(const TransferReport& sent, traces::Payload payload, traces::Direction direction);
};

/// Attention that context-parallel ranks compute together. Belongs to its rank's thread.
class ContextParallelOp : public AttentionOp {
 public:
  explicit ContextParallelOp(RankContext& context) : context_(context) {}

  virtual void setTrainStep(std::int32_t step) { train_step_ = step; }
  virtual HopTotals hops() const { return hops_; }
  /// Returns the number of (query, key) pairs that this rank attends per query head.
  virtual std::int64_t work() const = 0;

  /// Computes gradients in the type of the inputs.
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;
  /// Computes gradients in the type in which they are summed: fp32, or fp64 for fp64 inputs.
  virtual AttentionGradients backwardSums(const at::Tensor& dout, const at::Tensor& q,
                                          const at::Tensor& k, const at::Tensor& v,
                                          const AttentionResult& result, Layer layer) = 0;

 protected:
  traces::Place placeFor(RingStep ring_step, Layer layer, traces::Direction direction) const;
  /// Returns the schedule of a layer and direction: `planned` after the seam has changed it.
  RingSchedule scheduleFor(const RingSchedule& planned, const AttentionPlan& plan, Layer layer,
                           traces::Direction direction) const;
  /// Waits for the exchange and records its messages. `sent_source` and `received_source` are the
  /// cp ranks whose blocks the messages carry; none: the peer's own block.
  void finish(Exchange& exchange, traces::Payload payload, GroupRank sent_source,
              GroupRank received_source, const traces::Place& place);

  RankContext& context_;
  std::int32_t train_step_ = 0;
  HopTotals hops_;
};

}  // namespace ringscope::engine
