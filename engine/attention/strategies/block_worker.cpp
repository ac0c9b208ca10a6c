// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/block_worker.h"

#include <ATen/ATen.h>

#include "engine/attention/block_attention.h"
#include "engine/attention/sinks.h"

namespace ringscope::engine {

using traces::EventKind;
using traces::Place;

namespace {

void setPiece(traces::Event& event, const Piece& piece) {
  event.q_begin = static_cast<std::int32_t>(piece.q_begin);
  event.q_end = static_cast<std::int32_t>(piece.q_end);
  event.k_begin = static_cast<std::int32_t>(piece.k_begin);
  event.k_end = static_cast<std::int32_t>(piece.k_end);
  event.mask = piece.mask;
}

/// A causal square is attended in cuts (cutDiagonal) that are merged into one block result.
AttentionResult attendPieceByCuts(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const Piece& piece, double scale) {
  const auto cuts = cutDiagonal(piece);
  if (cuts.size() == 1) return attendPiece(q, k, v, piece, scale, true);
  RunningResult block = emptyRunningResult(q.slice(2, piece.q_begin, piece.q_end));
  for (const Piece& cut : cuts)
    mergeBlock(block, attendPiece(q, k, v, cut, scale, true), cut.q_begin - piece.q_begin);
  return block;
}

bool coversAll(const Piece& piece, const at::Tensor& q) {
  return piece.q_begin == 0 && piece.q_end == q.size(2) &&
         piece.mask != traces::PieceMask::kTileMask;
}

/// The first block of a row is its running result as it is; no merge needs to read zeros for it.
RunningResult takenOver(const AttentionResult& block) {
  const MemoryScope scope(MemoryCategory::kOutLse);
  const auto type = block.lse.scalar_type();
  return {block.out.scalar_type() == type ? block.out : block.out.to(type), block.lse};
}

}  // namespace

at::ScalarType sumTypeOf(const at::Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

void BlockWorker::attend(const std::vector<Piece>& pieces, const Place& place, int source_rank,
                         const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         RunningResult& running) const {
  Observer& observer = context_.observer;
  for (const Piece& piece : pieces) {
    AttentionResult block;
    {
      StageScope scope(observer, EventKind::kAttend, place, source_rank);
      setPiece(scope.event(), piece);
      const MemoryScope memory(MemoryCategory::kOutLse);
      block = attendPieceByCuts(q, k, v, piece, scale_);
    }
    observer.tensor("block_out", place, block.out);
    observer.tensor("block_lse", place, block.lse);
    StageScope scope(observer, EventKind::kMerge, place, source_rank);
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

void addTo(const at::Tensor& dkv, const std::vector<KeyGradients>& parts) {
  for (const KeyGradients& part : parts) {
    dkv[0].slice(2, part.k_begin, part.k_end).add_(part.dk);
    dkv[1].slice(2, part.k_begin, part.k_end).add_(part.dv);
  }
}

std::vector<KeyGradients> BlockWorker::attendBackward(
    const std::vector<Piece>& pieces, const Place& place, int source_rank, const at::Tensor& dout,
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionResult& result,
    const at::Tensor& dq) const {
  std::vector<KeyGradients> parts;
  for (const Piece& piece : pieces) {
    StageScope scope(context_.observer, EventKind::kAttend, place, source_rank);
    setPiece(scope.event(), piece);
    for (const Piece& cut : cutDiagonal(piece)) {
      const AttentionGradients part = attendPieceBackward(dout, q, k, v, result, cut, scale_, true);
      dq.slice(2, cut.q_begin, cut.q_end).add_(part.dq);
      parts.push_back({cut.k_begin, cut.k_end, part.dk, part.dv});
    }
  }
  return parts;
}

AttentionResult BlockWorker::finished(RunningResult running, const at::Tensor& q,
                                      const at::Tensor& sinks) {
  if (!running.out.defined()) running = emptyRunningResult(q);
  applySinks(running, sinks);
  return {running.out.to(q.scalar_type()), running.lse};
}

}  // namespace ringscope::engine
