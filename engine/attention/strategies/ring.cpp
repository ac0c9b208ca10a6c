// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/ring.h"

#include <ATen/ATen.h>

#include "engine/attention/block_attention.h"
#include "engine/attention/strategies/rotation.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Payload;
using traces::Place;

namespace {

void setPiece(traces::Event& event, const Piece& piece) {
  event.q_begin = static_cast<std::int32_t>(piece.q_begin);
  event.q_end = static_cast<std::int32_t>(piece.q_end);
  event.k_begin = static_cast<std::int32_t>(piece.k_begin);
  event.k_end = static_cast<std::int32_t>(piece.k_end);
  event.mask = piece.mask;
}

/// k, v: [B, Hkv, S, D] to one contiguous [2, B, Hkv, S, D]: a hop is one message.
at::Tensor packed(const at::Tensor& k, const at::Tensor& v) {
  const MemoryScope scope(MemoryCategory::kKv);
  return at::stack({k, v});
}

bool coversAll(const Piece& piece, const at::Tensor& q) {
  return piece.q_begin == 0 && piece.q_end == q.size(2);
}

/// The first block of a row is its running result as it is; no merge needs to read zeros for it.
RunningResult takenOver(const AttentionResult& block) {
  const MemoryScope scope(MemoryCategory::kOutLse);
  const auto type = block.lse.scalar_type();
  return {block.out.scalar_type() == type ? block.out : block.out.to(type), block.lse};
}

}  // namespace

RingAttention::RingAttention(RankContext& context, RingSchedule schedule, double scale)
    : context_(context), schedule_(std::move(schedule)), scale_(scale) {}

Place RingAttention::placeOf(const RingStage& stage, int layer, Direction direction) const {
  return {train_step_, static_cast<std::int16_t>(layer), direction,
          static_cast<std::int16_t>(stage.ring_step)};
}

AttentionResult RingAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, int layer) {
  Rotation kv(context_.cp, schedule_.next_rank, schedule_.previous_rank, packed(k, v));
  RunningResult running;
  for (const RingStage& stage : schedule_.stages) {
    const Place place = placeOf(stage, layer, Direction::kForward);
    context_.arriveAt(place);
    Exchange moving = stage.forwards_kv ? kv.start() : Exchange();
    attendStage(stage, place, q, kv.held(), running);
    if (!moving.pending()) continue;
    finish(moving, Payload::kKv, stage.source_rank, place);
    kv.advance();
  }
  return {running.out.to(q.scalar_type()), running.lse};
}

void RingAttention::attendStage(const RingStage& stage, const Place& place, const at::Tensor& q,
                                const at::Tensor& kv, RunningResult& running) {
  Observer& observer = context_.observer;
  observer.tensor("kv", place, kv);
  for (const Piece& piece : stage.pieces) {
    AttentionResult block;
    {
      StageScope scope(observer, EventKind::kAttend, place, stage.source_rank);
      setPiece(scope.event(), piece);
      const MemoryScope memory(MemoryCategory::kOutLse);
      block = attendPiece(q, kv[0], kv[1], piece, scale_);
    }
    observer.tensor("block_out", place, block.out);
    observer.tensor("block_lse", place, block.lse);
    StageScope scope(observer, EventKind::kMerge, place, stage.source_rank);
    setPiece(scope.event(), piece);
    const MemoryScope memory(MemoryCategory::kOutLse);
    if (!running.out.defined() && coversAll(piece, q)) {
      running = takenOver(block);
    } else {
      if (!running.out.defined()) running = emptyRunningResult(q);
      context_.seams.merge(running, block, piece.q_begin);
    }
  }
  if (running.lse.defined()) observer.tensor("running_lse", place, running.lse);
}

AttentionGradients RingAttention::backward(const at::Tensor& dout, const at::Tensor& q,
                                           const at::Tensor& k, const at::Tensor& v,
                                           const AttentionResult& result, int layer) {
  const auto sum_type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int home = schedule_.next_rank;  // dK, dV of the last stage belong to the next rank
  Rotation kv(context_.cp, home, schedule_.previous_rank, packed(k, v));
  at::Tensor dq = at::zeros(q.sizes(), sum_type);
  Rotation dkv(context_.cp, home, schedule_.previous_rank, at::zeros(kv.held().sizes(), sum_type));
  Exchange returning;
  Place place;
  for (const RingStage& stage : schedule_.stages) {
    const Place previous = place;
    place = placeOf(stage, layer, Direction::kBackward);
    context_.arriveAt(place);
    Exchange moving = stage.forwards_kv ? kv.start() : Exchange();
    at::Tensor contribution = stage.ring_step == 0 ? dkv.held() : at::zeros_like(dkv.held());
    attendStageBackward(stage, place, dout, q, kv.held(), result, dq, contribution);
    if (returning.pending()) {
      finish(returning, Payload::kDkv, (stage.source_rank + 1) % context_.cp.size(), previous);
      dkv.advance();
      const StageScope scope(context_.observer, EventKind::kMerge, place, stage.source_rank);
      dkv.held().add_(contribution);
    }
    context_.observer.tensor("dkv", place, dkv.held());
    if (context_.cp.size() > 1) returning = dkv.start();
    if (!moving.pending()) continue;
    finish(moving, Payload::kKv, stage.source_rank, place);
    kv.advance();
  }
  if (returning.pending()) {
    finish(returning, Payload::kDkv, home, place);
    dkv.advance();
  }
  const auto type = q.scalar_type();
  return {dq.to(type), dkv.held()[0].to(type), dkv.held()[1].to(type)};
}

void RingAttention::attendStageBackward(const RingStage& stage, const Place& place,
                                        const at::Tensor& dout, const at::Tensor& q,
                                        const at::Tensor& kv, const AttentionResult& result,
                                        at::Tensor& dq, at::Tensor& dkv) {
  context_.observer.tensor("kv", place, kv);
  for (const Piece& piece : stage.pieces) {
    StageScope scope(context_.observer, EventKind::kAttend, place, stage.source_rank);
    setPiece(scope.event(), piece);
    for (const Piece& cut : cutDiagonal(piece)) {
      const AttentionGradients part =
          attendPieceBackward(dout, q, kv[0], kv[1], result, cut, scale_);
      dq.slice(2, cut.q_begin, cut.q_end).add_(part.dq);
      dkv[0].slice(2, cut.k_begin, cut.k_end).add_(part.dk);
      dkv[1].slice(2, cut.k_begin, cut.k_end).add_(part.dv);
    }
  }
}

void RingAttention::finish(Exchange& exchange, Payload payload, int source_rank,
                           const Place& place) {
  std::vector<TransferReport> reports;
  {
    StageScope scope(context_.observer, EventKind::kWait, place, source_rank);
    scope.event().payload = payload;
    scope.event().peer = static_cast<std::int16_t>(schedule_.previous_rank);
    reports = exchange.wait();
  }
  // The report of a receive is about the block that came, which is the previous rank's.
  for (const TransferReport& report : reports) {
    const int cp = context_.cp.size();
    const int source = report.is_send ? source_rank : (source_rank + cp - 1) % cp;
    context_.observer.transfers({report}, payload, source, place);
    if (report.is_send) count(report, payload, place.direction);
  }
}

void RingAttention::count(const TransferReport& sent, Payload payload, Direction direction) {
  const bool forward = direction == Direction::kForward;
  (payload == Payload::kDkv ? hops_.dkv_backward
   : forward                ? hops_.kv_forward
                            : hops_.kv_backward) += 1;
  (forward ? hops_.bytes_forward : hops_.bytes_backward) += sent.bytes;
}

}  // namespace ringscope::engine
