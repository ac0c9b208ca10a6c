// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/context_parallel_op.h"

#include <ATen/ATen.h>

#include "traces/format/core/clock.h"

namespace ringscope::engine {

using traces::Direction;
using traces::Payload;

void HopTotals::add(const TransferReport& sent, Payload payload, Direction direction) {
  const bool forward = direction == Direction::kForward;
  int& count = payload == Payload::kDkv             ? dkv_backward
               : payload == Payload::kKv && forward ? kv_forward
               : payload == Payload::kKv            ? kv_backward
               : forward                            ? heads_forward
                                                    : heads_backward;
  ++count;
  (forward ? bytes_forward : bytes_backward) += sent.bytes;
}

AttentionGradients ContextParallelOp::backward(const at::Tensor& dout, const at::Tensor& q,
                                               const at::Tensor& k, const at::Tensor& v,
                                               const AttentionResult& result, Layer layer) {
  const AttentionGradients g = backwardSums(dout, q, k, v, result, layer);
  const auto type = q.scalar_type();
  return {g.dq.to(type), g.dk.to(type), g.dv.to(type)};
}

traces::Place ContextParallelOp::placeFor(RingStep ring_step, Layer layer,
                                          Direction direction) const {
  return {train_step_, layer, direction, ring_step};
}

RingSchedule ContextParallelOp::scheduleFor(const RingSchedule& planned, const AttentionPlan& plan,
                                            Layer layer, Direction direction) const {
  RingSchedule schedule = planned;
  context_.seams.attention.schedule(
      context_.seamPlace(placeFor(RingStep::none(), layer, direction)), plan, schedule);
  return schedule;
}

void ContextParallelOp::finish(Exchange& exchange, Payload payload, GroupRank sent_source,
                               GroupRank received_source, const traces::Place& place) {
  traces::Event common;
  common.place = place;
  common.payload = payload;
  while (exchange.pending()) {
    common.exchange = exchange.number();
    common.group = exchange.amongRanks();
    std::vector<TransferReport> reports;
    const std::int64_t begin = traces::steadyNow();
    {
      StageScope scope(context_.observer, traces::EventKind::kWait, place,
                       context_.worldRankFor(sent_source),
                       {exchange.firstPeer(), exchange.bytes()});
      scope.event().payload = payload;
      scope.event().exchange = common.exchange;
      scope.event().group = common.group;
      reports = exchange.waitForNext();
    }
    hops_.wait_ns += traces::steadyNow() - begin;
    for (const TransferReport& report : reports) {
      const GroupRank source = report.is_send ? sent_source : received_source;
      common.source_rank = source.exists() ? context_.worldRankFor(source) : report.peer_in_world;
      context_.observer.transfer(report, report.peer_in_world, common);
      if (report.is_send) hops_.add(report, payload, place.direction);
    }
  }
}

}  // namespace ringscope::engine
