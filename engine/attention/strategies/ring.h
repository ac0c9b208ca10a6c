// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/block_worker.h"
#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/attention/strategies/kv_wire.h"
#include "engine/attention/strategies/rotation.h"

namespace ringscope::engine {

/// How a ring is run.
struct RingOptions {
  Rotate rotate = Rotate::kP2p;
  Order order = Order::kDiagonalFirst;
  bool fp8 = false;  ///< KV on the wire as e4m3
  traces::PointToPoint p2p = traces::PointToPoint::kBatched;
  HeadPart heads = {};
};

/// Ring attention over a group (Liu et al. 2023, arXiv:2310.01889): KV blocks go round while each
/// rank attends its queries to the block that it holds; in backward they go round again with dK and
/// dV, while dQ stays.
class RingAttention : public ContextParallelOp {
 public:
  /// `layout` is that of the group's ranks.
  RingAttention(RankContext& context, Group group, const ShardLayout& layout, const Mask& mask,
                const Softmax& softmax, RingOptions options);

  std::int64_t work() const override { return forward_.work(); }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backwardSums(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v, const AttentionResult& result,
                                  Layer layer) override;

 private:
  std::unique_ptr<KvWire> makeWire(const at::Tensor& k) const;
  at::Tensor firstBackwardPacket(const at::Tensor& k, const at::Tensor& v, const KvWire& wire,
                                 Layer layer);
  /// Diagonal last begins where forward ended; gathered blocks are gathered again.
  bool keepsLastPacket() const {
    return options_.order == Order::kDiagonalLast && options_.rotate != Rotate::kAllGather;
  }
  GroupRank cpRank(GroupRank source) const { return group_.communicatorRank(source); }
  void finishKv(Exchange& moving, const RingSchedule& schedule, const RingStage& stage,
                const traces::Place& place);

  /// The packets of a layer and direction on their way, as the seam `wrap` leaves them.
  std::unique_ptr<Rotation> rotation(Rotate rotate, const RingSchedule& schedule, at::Tensor first,
                                     const RingSeams::Wrap& wrap, Layer layer,
                                     traces::Direction direction) const;

  Group group_;
  ShardLayout layout_;
  Mask mask_;
  RingOptions options_;
  RingSchedule forward_, backward_;
  BlockWorker worker_;
  std::map<Layer, at::Tensor> last_packet_;  // where diagonal-last begins
};

}  // namespace ringscope::engine
