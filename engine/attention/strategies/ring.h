// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/block_worker.h"
#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/attention/strategies/kv_wire.h"
#include "engine/attention/strategies/rotation.h"
#include "traces/plan/strategy.h"

namespace ringscope::engine {

/// The options of a ring.
struct RingOptions {
  Rotate rotate = Rotate();
  Order order = Order::kDiagonalFirst;
  bool fp8 = false;  ///< send KV as e4m3
  traces::PointToPoint p2p = traces::PointToPoint::kBatched;
  HeadPart heads = {};
};

/// Ring attention over a group (Liu et al. 2023, arXiv:2310.01889). KV blocks rotate while each
/// rank attends its queries to the block that it holds. In backward, KV blocks rotate again with dK
/// and dV, while dQ stays.
class RingAttention : public ContextParallelOp {
 public:
  /// Makes a ring. `layout` is the layout of the group's ranks.
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
  /// Reports whether forward keeps its last packet. The diagonal-last backward begins with that
  /// packet; gathered blocks are gathered again.
  bool keepsLastPacket() const {
    return options_.order == Order::kDiagonalLast &&
           traces::packetRoute(options_.rotate) != traces::PacketRoute::kGather;
  }
  GroupRank cpRank(GroupRank source) const { return group_.communicatorRank(source); }
  void finishKv(Exchange& moving, const RingSchedule& schedule, const RingStage& stage,
                const traces::Place& place);

  /// Returns the rotation of the packets of a layer and direction, after the seam `wrap` has
  /// changed it.
  std::unique_ptr<Rotation> rotation(Rotate rotate, const RingSchedule& schedule, at::Tensor first,
                                     const RingSeams::Wrap& wrap, Layer layer,
                                     traces::Direction direction) const;

  Group group_;
  ShardLayout layout_;
  Mask mask_;
  RingOptions options_;
  RingSchedule forward_, backward_;
  BlockWorker worker_;
  std::map<Layer, at::Tensor> last_packet_;  // the first packet of a diagonal-last backward
};

}  // namespace ringscope::engine
