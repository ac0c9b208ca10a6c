// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/ring.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Payload;
using traces::Place;

RingAttention::RingAttention(RankContext& context, Group group, const ShardLayout& layout,
                             const Mask& mask, const Softmax& softmax, RingOptions options)
    : ContextParallelOp(context),
      group_(std::move(group)),
      options_(options),
      forward_(ringSchedule(layout, mask, group_.rank())),
      backward_(ringBackwardSchedule(layout, mask, group_.rank(), options.order)),
      worker_(context, softmax) {}

std::unique_ptr<KvWire> RingAttention::makeWire(const at::Tensor& k) const {
  return options_.fp8 ? fp8KvWire(k) : plainKvWire();
}

/// A hop carries the held block on and brings the next; a gather brings each peer's own.
void RingAttention::finishKv(Exchange& moving, const RingSchedule& schedule, const RingStage& stage,
                             const Place& place) {
  if (options_.rotate == Rotate::kAllGather)
    return finish(moving, Payload::kKv, context_.rank(), -1, place);
  const auto& next = schedule.stages[static_cast<std::size_t>(stage.ring_step) + 1];
  finish(moving, Payload::kKv, worldSource(stage.source_rank), worldSource(next.source_rank),
         place);
}

AttentionResult RingAttention::forward(const at::Tensor& queries, const at::Tensor& k,
                                       const at::Tensor& v, int layer) {
  const at::Tensor q = options_.fp8 ? roundedToFp8(queries) : queries;
  const auto wire = makeWire(k);
  const auto kv = makeRotation(options_.rotate, group_, forward_, wire->packed(k, v));
  RunningResult running;
  for (const RingStage& stage : forward_.stages) {
    const Place place = placeOf(stage.ring_step, layer, Direction::kForward);
    context_.arriveAt(place);
    Exchange moving = stage.forwards_kv ? kv->start() : Exchange();
    const at::Tensor held = wire->unpacked(kv->held());
    context_.observer.tensor("kv", place, held);
    worker_.attend(stage.pieces, place, worldSource(stage.source_rank), q, held[0], held[1],
                   running);
    if (!stage.forwards_kv) break;
    finishKv(moving, forward_, stage, place);
    kv->advance();
  }
  if (keepsLastPacket()) last_packet_[layer] = kv->held();
  return BlockWorker::finished(std::move(running), q, sinks_);
}

/// Diagonal last begins with what forward held last, and so needs no hop to get it.
at::Tensor RingAttention::firstBackwardPacket(const at::Tensor& k, const at::Tensor& v,
                                              const KvWire& wire, int layer) {
  const auto kept = last_packet_.find(layer);
  if (kept == last_packet_.end()) return wire.packed(k, v);
  const at::Tensor packet = kept->second;
  last_packet_.erase(kept);
  return packet;
}

AttentionGradients RingAttention::backwardSums(const at::Tensor& dout_in, const at::Tensor& queries,
                                               const at::Tensor& k, const at::Tensor& v,
                                               const AttentionResult& result, int layer) {
  const at::Tensor q = options_.fp8 ? roundedToFp8(queries) : queries;
  const at::Tensor dout = inKernelOrder(dout_in);
  const auto type = sumTypeOf(q);
  const auto wire = makeWire(k);
  const auto kv =
      makeRotation(options_.rotate, group_, backward_, firstBackwardPacket(k, v, *wire, layer));
  const auto options = q.options().dtype(type);
  RowSums dq(at::empty(q.sizes(), options));
  const at::Tensor sums = at::empty({2, k.size(0), k.size(1), k.size(2), k.size(3)}, options);
  const auto dkv = makeRotation(Rotate::kP2p, group_, backward_, sums);
  Exchange returning;
  Place place;
  int carried = -1;  // whose dK, dV are under way
  if (backward_.stages.front().source_rank != group_.rank() && !keepsLastPacket()) {
    // Gathered blocks, and the first is another rank's: nothing can be attended before they come.
    Exchange gathering = kv->start();
    finish(gathering, Payload::kKv, context_.rank(), -1, placeOf(0, layer, Direction::kBackward));
  }
  for (const RingStage& stage : backward_.stages) {
    const Place previous = place;
    const int source = worldSource(stage.source_rank);
    place = placeOf(stage.ring_step, layer, Direction::kBackward);
    context_.arriveAt(place);
    Exchange moving = stage.forwards_kv ? kv->start() : Exchange();
    const at::Tensor held = wire->unpacked(kv->held());
    context_.observer.tensor("kv", place, held);
    const auto parts =
        worker_.attendBackward(stage.pieces, place, source, dout, q, held[0], held[1], result, dq);
    if (returning.pending()) {
      finish(returning, Payload::kDkv, carried, source, previous);
      dkv->advance();
    }
    {
      const StageScope scope(context_.observer, EventKind::kMerge, place, source);
      (stage.ring_step == 0 ? storeIn : addTo)(dkv->held(), parts);
    }
    context_.observer.tensor("dkv", place, dkv->held());
    carried = source;
    if (group_.size() > 1 && (stage.forwards_kv || options_.order == Order::kDiagonalFirst))
      returning = dkv->start();
    if (!stage.forwards_kv) break;
    finishKv(moving, backward_, stage, place);
    kv->advance();
  }
  if (returning.pending()) {
    finish(returning, Payload::kDkv, carried, context_.rank(), place);
    dkv->advance();
  }
  return {dq.finished(), dkv->held()[0], dkv->held()[1]};
}

}  // namespace ringscope::engine
