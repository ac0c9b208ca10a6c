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

/// Messages that one rank has sent, and their bytes.
struct HopTotals {
  int kv_forward = 0, kv_backward = 0, dkv_backward = 0, heads_forward = 0, heads_backward = 0;
  std::int64_t bytes_forward = 0, bytes_backward = 0;
  std::int64_t wait_ns = 0;  ///< blocked until messages came: exposed communication

  void add(const TransferReport& sent, traces::Payload payload, traces::Direction direction);
};

/// Attention shared by context-parallel ranks. Belongs to its rank's thread.
class ContextParallelOp : public AttentionOp {
 public:
  explicit ContextParallelOp(RankContext& context) : context_(context) {}

  virtual void setTrainStep(std::int32_t step) { train_step_ = step; }
  virtual HopTotals hops() const { return hops_; }
  /// (query, key) pairs that this rank attends, for each of its query heads.
  virtual std::int64_t work() const = 0;

  /// Gradients in the type of the inputs.
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override;
  /// The same, still in the type in which they are summed: fp32, fp64 for fp64 inputs.
  virtual AttentionGradients backwardSums(const at::Tensor& dout, const at::Tensor& q,
                                          const at::Tensor& k, const at::Tensor& v,
                                          const AttentionResult& result, Layer layer) = 0;

 protected:
  traces::Place placeOf(RingStep ring_step, Layer layer, traces::Direction direction) const;
  /// The schedule of a layer and direction: `planned`, as the seam leaves it.
  RingSchedule scheduleOf(const RingSchedule& planned, const AttentionPlan& plan, Layer layer,
                          traces::Direction direction) const;
  /// Waits, and records the messages. `sent_source` and `received_source` are the cp ranks whose
  /// blocks the sent and the received messages carry; none: the peer's own.
  void finish(Exchange& exchange, traces::Payload payload, GroupRank sent_source,
              GroupRank received_source, const traces::Place& place);

  RankContext& context_;
  std::int32_t train_step_ = 0;
  HopTotals hops_;
};

}  // namespace ringscope::engine
