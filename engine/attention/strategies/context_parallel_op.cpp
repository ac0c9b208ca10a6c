// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/context_parallel_op.h"

#include <ATen/ATen.h>

#include "traces/core/clock.h"

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
                                               const AttentionResult& result, int layer) {
  const AttentionGradients g = backwardSums(dout, q, k, v, result, layer);
  const auto type = q.scalar_type();
  return {g.dq.to(type), g.dk.to(type), g.dv.to(type)};
}

traces::Place ContextParallelOp::placeOf(int ring_step, int layer, Direction direction) const {
  return {train_step_, static_cast<std::int16_t>(layer), direction,
          static_cast<std::int16_t>(ring_step)};
}

void ContextParallelOp::finish(Exchange& exchange, Payload payload, int sent_source,
                               int received_source, const traces::Place& place) {
  if (!exchange.pending()) return;
  const int peer = exchange.firstSource();
  std::vector<TransferReport> reports;
  const std::int64_t begin = traces::steadyNow();
  {
    StageScope scope(context_.observer, traces::EventKind::kWait, place, sent_source);
    scope.event().payload = payload;
    scope.event().peer = static_cast<std::int16_t>(peer);
    reports = exchange.wait();
  }
  hops_.wait_ns += traces::steadyNow() - begin;
  for (const TransferReport& report : reports) {
    const int source = report.is_send ? sent_source : received_source;
    const int own = report.is_send ? context_.rank() : report.peer;
    context_.observer.transfers({report}, payload, source >= 0 ? source : own, place);
    if (report.is_send) hops_.add(report, payload, place.direction);
  }
}

}  // namespace ringscope::engine
