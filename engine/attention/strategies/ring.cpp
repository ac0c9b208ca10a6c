// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/ring.h"

#include <ATen/ATen.h>

#include "engine/kernels/fp8.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Payload;
using traces::Place;
using traces::TensorKind;

RingAttention::RingAttention(RankContext& context, Group group, const ShardLayout& layout,
                             const Mask& mask, const Softmax& softmax, RingOptions options)
    : ContextParallelOp(context),
      group_(std::move(group)),
      layout_(layout),
      mask_(mask),
      options_(options),
      forward_(ringSchedule(layout, mask, group_.rank())),
      backward_(ringBackwardSchedule(layout, mask, group_.rank(), options.order)),
      worker_(context, softmax, group_, layout, options.heads) {}

std::unique_ptr<KvWire> RingAttention::makeWire(const at::Tensor& k) const {
  return options_.fp8 ? fp8KvWire(k) : plainKvWire();
}

/// Waits for KV. A hop sends the held block and receives the next one; a gather receives each
/// peer's own block.
void RingAttention::finishKv(Exchange& moving, const RingSchedule& schedule, const RingStage& stage,
                             const Place& place) {
  if (traces::packetRoute(options_.rotate) == traces::PacketRoute::kGather)
    return finish(moving, Payload::kKv, context_.rank(), GroupRank::none(), place);
  const auto& next = schedule.stages[stage.ring_step.next().index()];
  finish(moving, Payload::kKv, cpRank(stage.source_rank), cpRank(next.source_rank), place);
}

std::unique_ptr<Rotation> RingAttention::rotation(Rotate rotate, const RingSchedule& schedule,
                                                  at::Tensor first, const RingSeams::Wrap& wrap,
                                                  Layer layer, Direction direction) const {
  return wrap(context_.seamPlace(placeFor(RingStep::none(), layer, direction)), schedule,
              makeRotation(rotate, group_, schedule, std::move(first), options_.p2p));
}

AttentionResult RingAttention::forward(const at::Tensor& queries, const at::Tensor& k,
                                       const at::Tensor& v, Layer layer) {
  const at::Tensor q = options_.fp8 ? roundedToFp8(queries) : queries;
  const auto wire = makeWire(k);
  const auto schedule = scheduleFor(forward_, {layout_, mask_}, layer, Direction::kForward);
  const auto kv = rotation(options_.rotate, schedule, wire->packed(k, v), context_.seams.ring.kv,
                           layer, Direction::kForward);
  RunningResult running;
  for (const RingStage& stage : schedule.stages) {
    const Place place = placeFor(stage.ring_step, layer, Direction::kForward);
    context_.arriveAt(place);
    Exchange moving = stage.forwards_kv ? kv->start() : Exchange();
    const at::Tensor held = wire->unpacked(kv->held());
    context_.observer.tensor({TensorKind::kKv}, place, held,
                             context_.worldRankFor(cpRank(stage.source_rank)));
    worker_.attend(stage.pieces, place, cpRank(stage.source_rank), q, held[0], held[1], sinks_,
                   running);
    if (!stage.forwards_kv) break;
    finishKv(moving, schedule, stage, place);
    kv->advance();
  }
  if (keepsLastPacket()) last_packet_[layer] = kv->held();
  return worker_.finished(std::move(running), q, sinks_,
                          placeFor(RingStep::none(), layer, Direction::kForward));
}

/// Returns the packet with which backward begins. Diagonal-last reuses the last packet of forward
/// and saves a hop.
at::Tensor RingAttention::firstBackwardPacket(const at::Tensor& k, const at::Tensor& v,
                                              const KvWire& wire, Layer layer) {
  const auto kept = last_packet_.find(layer);
  if (kept == last_packet_.end()) return wire.packed(k, v);
  at::Tensor packet = kept->second;
  last_packet_.erase(kept);
  return packet;
}

AttentionGradients RingAttention::backwardSums(const at::Tensor& dout_in, const at::Tensor& queries,
                                               const at::Tensor& k, const at::Tensor& v,
                                               const AttentionResult& result, Layer layer) {
  const at::Tensor q = options_.fp8 ? roundedToFp8(queries) : queries;
  const at::Tensor dout = inKernelOrder(dout_in);
  const auto type = sumTypeFor(q);
  const auto wire = makeWire(k);
  const auto schedule = scheduleFor(backward_, {layout_, mask_}, layer, Direction::kBackward);
  const auto kv = rotation(options_.rotate, schedule, firstBackwardPacket(k, v, *wire, layer),
                           context_.seams.ring.kv, layer, Direction::kBackward);
  const auto options = q.options().dtype(type);
  RowSums dq(at::empty(q.sizes(), options));
  const at::Tensor sums = at::empty({2, k.size(0), k.size(1), k.size(2), k.size(3)}, options);
  const auto dkv =
      rotation(Rotate(), schedule, sums, context_.seams.ring.dkv, layer, Direction::kBackward);
  Exchange returning;
  Place place;
  GroupRank carried;  // the rank whose dK and dV are in flight
  if (schedule.stages.front().source_rank != group_.rank() && !keepsLastPacket()) {
    // Blocks are gathered, and the first is another rank's, so the ring must wait for it.
    Exchange gathering = kv->start();
    finish(gathering, Payload::kKv, context_.rank(), GroupRank::none(),
           placeFor(RingStep::of(0), layer, Direction::kBackward));
  }
  for (const RingStage& stage : schedule.stages) {
    const Place previous = place;
    const GroupRank source = cpRank(stage.source_rank);
    place = placeFor(stage.ring_step, layer, Direction::kBackward);
    context_.arriveAt(place);
    Exchange moving = stage.forwards_kv ? kv->start() : Exchange();
    const at::Tensor held = wire->unpacked(kv->held());
    context_.observer.tensor({TensorKind::kKv}, place, held, context_.worldRankFor(source));
    const auto parts =
        worker_.attendBackward(stage.pieces, place, source, dout, q, held[0], held[1], result, dq);
    if (returning.pending()) {
      finish(returning, Payload::kDkv, carried, source, previous);
      dkv->advance();
    }
    {
      at::Tensor& adding_to = dkv->held();
      const StageScope scope(context_.observer, EventKind::kMerge, place,
                             context_.worldRankFor(source),
                             {.bytes = static_cast<std::int64_t>(adding_to.nbytes())});
      (stage.ring_step == RingStep::of(0) ? storeIn : addTo)(adding_to, parts);
    }
    context_.observer.tensor({TensorKind::kDkv}, place, dkv->held(), context_.worldRankFor(source));
    carried = source;
    if (group_.size() > 1 && (stage.forwards_kv || options_.order == Order::kDiagonalFirst))
      returning = dkv->start();
    if (!stage.forwards_kv) break;
    finishKv(moving, schedule, stage, place);
    kv->advance();
  }
  if (returning.pending()) {
    finish(returning, Payload::kDkv, carried, context_.rank(), place);
    dkv->advance();
  }
  return {dq.finished(), dkv->held()[0], dkv->held()[1]};
}

}  // namespace ringscope::engine
