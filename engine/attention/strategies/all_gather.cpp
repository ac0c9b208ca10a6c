// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/all_gather.h"

#include <ATen/ATen.h>

#include "engine/kernels/fp8.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Payload;
using traces::Place;

AllGatherAttention::AllGatherAttention(RankContext& context, Group group, const ShardLayout& layout,
                                       const Mask& mask, const Softmax& softmax, bool fp8)
    : ContextParallelOp(context),
      group_(std::move(group)),
      layout_(layout),
      mask_(mask),
      fp8_(fp8),
      schedule_(ringSchedule(layout, mask, group_.rank())),
      worker_(context, softmax, group_, layout) {}

std::vector<at::Tensor> AllGatherAttention::gather(const at::Tensor& k, const at::Tensor& v,
                                                   const Place& place) {
  const auto size = static_cast<std::size_t>(group_.size());
  const auto wire = fp8_ ? fp8KvWire(k) : plainKvWire();
  const at::Tensor mine = wire->packed(k, v);
  std::vector<at::Tensor> sends(size, mine), packets(size);
  {
    const MemoryScope scope(MemoryCategory::kInFlight);
    for (auto& packet : packets) packet = at::empty_like(mine);
  }
  Exchange exchange = group_.allToAll(sends, packets);
  finish(exchange, Payload::kKv, context_.rank(), GroupRank::none(), place);
  for (auto& packet : packets) {
    packet = wire->unpacked(packet);
    if (fp8_) packet = packet.clone();  // the wire reuses one buffer
  }
  return packets;
}

AttentionResult AllGatherAttention::forward(const at::Tensor& queries, const at::Tensor& k,
                                            const at::Tensor& v, Layer layer) {
  const at::Tensor q = fp8_ ? roundedToFp8(queries) : queries;
  const Place place = placeFor(RingStep::of(0), layer, Direction::kForward);
  context_.arriveAt(place);
  const auto blocks = gather(k, v, place);
  const auto schedule = scheduleFor(schedule_, {layout_, mask_}, layer, Direction::kForward);
  RunningResult running;
  for (const RingStage& stage : schedule.stages) {
    const at::Tensor& kv = blocks[stage.source_rank.index()];
    worker_.attend(stage.pieces, place, group_.communicatorRank(stage.source_rank), q, kv[0], kv[1],
                   sinks_, running);
  }
  return worker_.finished(std::move(running), q, sinks_, place);
}

AttentionGradients AllGatherAttention::backwardSums(const at::Tensor& dout_in,
                                                    const at::Tensor& queries, const at::Tensor& k,
                                                    const at::Tensor& v,
                                                    const AttentionResult& result, Layer layer) {
  const at::Tensor q = fp8_ ? roundedToFp8(queries) : queries;
  const at::Tensor dout = inKernelOrder(dout_in);
  const Place place = placeFor(RingStep::of(0), layer, Direction::kBackward);
  context_.arriveAt(place);
  const auto blocks = gather(k, v, place);
  const auto schedule = scheduleFor(schedule_, {layout_, mask_}, layer, Direction::kBackward);
  const auto type = sumTypeFor(q);
  const auto options = q.options().dtype(type);
  RowSums dq(at::empty(q.sizes(), options));
  std::vector<at::Tensor> parts(blocks.size());
  for (const RingStage& stage : schedule.stages) {
    const std::size_t source = stage.source_rank.index();
    parts[source] = at::empty(blocks[source].sizes(), options);
    storeIn(parts[source],
            worker_.attendBackward(stage.pieces, place, group_.communicatorRank(stage.source_rank),
                                   dout, q, blocks[source][0], blocks[source][1], result, dq));
  }
  for (std::size_t r = 0; r < parts.size(); ++r)  // no stage uses this block
    if (!parts[r].defined()) parts[r] = at::zeros(blocks[r].sizes(), options);
  const at::Tensor sum = reduce(parts, place);
  return {dq.finished(), sum[0], sum[1]};
}

at::Tensor AllGatherAttention::reduce(const std::vector<at::Tensor>& parts, const Place& place) {
  std::vector<at::Tensor> received(parts.size());
  {
    const MemoryScope scope(MemoryCategory::kInFlight);
    for (auto& part : received) part = at::empty_like(parts.front());
  }
  Exchange exchange = group_.allToAll(parts, received);
  finish(exchange, Payload::kDkv, GroupRank::none(), context_.rank(), place);
  const StageScope scope(context_.observer, EventKind::kMerge, place,
                         context_.worldRankFor(context_.rank()),
                         {.bytes = static_cast<std::int64_t>(received.front().nbytes())});
  at::Tensor sum = received.front();
  for (std::size_t r = 1; r < received.size(); ++r) sum.add_(received[r]);
  return sum;
}

}  // namespace ringscope::engine
