// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/block_worker.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/kernels/block_attention.h"
#include "engine/kernels/plain_attention.h"
#include "engine/kernels/sinks.h"
#include "engine/plan.h"

namespace ringscope::engine {

using traces::EventKind;
using traces::PieceIndex;
using traces::Place;
using traces::TensorKind;

namespace {

void setPiece(traces::Event& event, const Piece& piece, PieceIndex index) {
  event.piece = index;
  event.q_begin = static_cast<std::int32_t>(piece.q_begin);
  event.q_end = static_cast<std::int32_t>(piece.q_end);
  event.k_begin = static_cast<std::int32_t>(piece.k_begin);
  event.k_end = static_cast<std::int32_t>(piece.k_end);
  event.mask = piece.mask;
}

/// Attends a causal square in strips that are merged into one block result, because that is faster
/// with the CPU kernel. CUDA's kernel skips masked keys by itself.
AttentionResult attendPieceByCuts(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const Piece& piece, const Softmax& softmax,
                                  const PairPlaces& places) {
  const ScoreRule& rule = softmax.rule;
  if (softmax.dropout.p > 0) return attendPiecePlain(q, k, v, piece, rule, softmax.dropout, places);
  const bool cut = q.is_cpu() && !softmax.isPlain();
  const auto cuts = cut ? cutDiagonalIntoStrips(piece) : std::vector{piece};
  if (cuts.size() == 1) return attendPiece(q, k, v, piece, rule, true, softmax.kernel);
  RunningResult block = unwrittenRunningResult(q.slice(2, piece.q_begin, piece.q_end));
  for (const Piece& part : cuts)
    mergeBlock(block, attendPiece(q, k, v, part, rule, true, softmax.kernel),
               part.q_begin - piece.q_begin);
  return block;
}

std::int64_t blockBytes(const AttentionResult& block) {
  return static_cast<std::int64_t>(block.out.nbytes() + block.lse.nbytes());
}

/// Returns the bytes of the keys and values that a piece attends.
std::int64_t keyBytes(const Piece& piece, const at::Tensor& k, const at::Tensor& v) {
  const auto all = static_cast<std::int64_t>(k.nbytes() + v.nbytes());
  return all / std::max<std::int64_t>(1, k.size(2)) * (piece.k_end - piece.k_begin);
}

bool coversAll(const Piece& piece, const at::Tensor& q) {
  return piece.q_begin == 0 && piece.q_end == q.size(2) &&
         piece.mask != traces::PieceMask::kTileMask;
}

/// Makes the first block of all rows the running result, so that no merge has to read zeros.
RunningResult takenOver(const AttentionResult& block) {
  const MemoryScope scope(MemoryCategory::kOutLse);
  const auto type = block.lse.scalar_type();
  return {block.out.scalar_type() == type ? block.out : block.out.to(type), block.lse};
}

}  // namespace

at::ScalarType sumTypeFor(const at::Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

BlockWorker::BlockWorker(RankContext& context, const Softmax& softmax, const Group& group,
                         const ShardLayout& layout, HeadPart heads)
    : context_(context),
      softmax_(softmax),
      heads_(heads),
      cp_rank_(group.communicatorRank(group.rank())) {
  if (softmax.dropout.p == 0) return;
  for (const GroupRank rank : everyRank(group.size()))
    tokens_[group.communicatorRank(rank)] = layout.globalFromLocal(rank);
}

Dropout BlockWorker::dropoutFor(const Place& place, GroupRank source_rank) const {
  Dropout dropout = softmax_.dropout;
  dropout.seed = seedOfLayer(dropout.seed, place.train_step, place.layer);
  context_.seams.attention.dropout(context_.seamPlace(place, source_rank), dropout);
  return dropout;
}

Softmax BlockWorker::softmaxFor(const Place& place, GroupRank source_rank,
                                const at::Tensor& q) const {
  Softmax softmax = softmax_;
  softmax.dropout = dropoutFor(place, source_rank);
  context_.seams.attention.scores(context_.seamPlace(place, source_rank), q.size(-1), softmax.rule);
  return softmax;
}

PairPlaces BlockWorker::placesFor(GroupRank source_rank, const at::Tensor& q) const {
  if (tokens_.empty()) return {};
  const MeshPlace here = context_.groups.place();
  return {here.dp.value() * q.size(0), (here.tp.value() * heads_.count + heads_.index) * q.size(1),
          tokens_.at(cp_rank_), tokens_.at(source_rank)};
}

void BlockWorker::attend(const std::vector<Piece>& pieces, const Place& place,
                         GroupRank source_rank, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v, const at::Tensor& sinks,
                         RunningResult& running) const {
  Observer& observer = context_.observer;
  const WorldRank source = context_.worldRankFor(source_rank);
  const AttentionSeams& seams = context_.seams.attention;
  const SeamPlace at = context_.seamPlace(place, source_rank);
  const Softmax softmax = softmaxFor(place, source_rank, q);
  const PairPlaces places = placesFor(source_rank, q);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const PieceIndex index = PieceIndex::of(i);
    AttentionResult block;
    {
      StageScope scope(observer, EventKind::kAttend, place, source,
                       {.bytes = keyBytes(piece, k, v)});
      setPiece(scope.event(), piece, index);
      const MemoryScope memory(MemoryCategory::kOutLse);
      block = attendPieceByCuts(q, k, v, piece, softmax, places);
      seams.block(at, piece, block);
    }
    observer.tensor({TensorKind::kBlockOut}, place, block.out, source, index);
    observer.tensor({TensorKind::kBlockLse}, place, block.lse, source, index);
    StageScope scope(observer, EventKind::kMerge, place, source, {.bytes = blockBytes(block)});
    setPiece(scope.event(), piece, index);
    const MemoryScope memory(MemoryCategory::kOutLse);
    if (!running.out.defined() && coversAll(piece, q)) {
      running = takenOver(block);
    } else {
      if (!running.out.defined()) running = emptyRunningResult(q);
      seams.merge(at, running, block, piece.q_begin);
    }
    seams.running(at, running);
  }
  if (!running.lse.defined()) return;
  seams.stage(at, pieces, sinks, running);
  observer.tensor({TensorKind::kRunningLse}, place, running.lse, source);
}

void addTo(const at::Tensor& dkv, const std::vector<KeyGradients>& parts) {
  for (const KeyGradients& part : parts) {
    dkv[0].slice(2, part.k_begin, part.k_end).add_(part.dk);
    dkv[1].slice(2, part.k_begin, part.k_end).add_(part.dv);
  }
}

void storeIn(const at::Tensor& dkv, const std::vector<KeyGradients>& parts) {
  RowSums dk(dkv[0]), dv(dkv[1]);
  for (const KeyGradients& part : parts) {
    dk.add(part.k_begin, part.k_end, part.dk);
    dv.add(part.k_begin, part.k_end, part.dv);
  }
  dk.finished();
  dv.finished();
}

at::Tensor inKernelOrder(const at::Tensor& dout) {
  const bool helps = dout.is_cpu() && dout.size(0) == 1;  // with a larger batch, row ranges are
                                                          // never contiguous
  return helps ? dout.transpose(1, 2).contiguous().transpose(1, 2) : dout;
}

std::vector<KeyGradients> BlockWorker::attendBackward(const std::vector<Piece>& pieces,
                                                      const Place& place, GroupRank source_rank,
                                                      const at::Tensor& dout, const at::Tensor& q,
                                                      const at::Tensor& k, const at::Tensor& v,
                                                      const AttentionResult& result,
                                                      RowSums& dq) const {
  const Softmax softmax = softmaxFor(place, source_rank, q);
  BackwardInputs in{dout, q, k, v, result, pieces, softmax.rule};
  context_.seams.attention.backward(context_.seamPlace(place, source_rank), in);
  const PairPlaces places = placesFor(source_rank, q);
  std::vector<KeyGradients> parts;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    StageScope scope(context_.observer, EventKind::kAttend, place,
                     context_.worldRankFor(source_rank), {.bytes = keyBytes(pieces[i], k, v)});
    setPiece(scope.event(), pieces[i], PieceIndex::of(i));
    const bool whole = q.is_cuda() || softmax.isPlain();
    for (const Piece& cut : whole ? std::vector{pieces[i]} : cutDiagonal(pieces[i])) {
      const AttentionGradients part =
          softmax.dropout.p > 0 ? attendPiecePlainBackward(in.dout, in.q, in.k, in.v, in.result,
                                                           cut, in.rule, softmax.dropout, places)
                                : attendPieceBackward(in.dout, in.q, in.k, in.v, in.result, cut,
                                                      in.rule, true, softmax.kernel);
      dq.add(cut.q_begin, cut.q_end, part.dq);
      parts.push_back({cut.k_begin, cut.k_end, part.dk, part.dv});
    }
  }
  return parts;
}

AttentionResult BlockWorker::attendWhole(const std::vector<Piece>& pieces, const Place& place,
                                         const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v) const {
  Observer& observer = context_.observer;
  const WorldRank own = context_.worldRankFor(context_.rank());
  const MemoryScope memory(MemoryCategory::kOutLse);
  const Softmax softmax = softmaxFor(place, context_.rank(), q);
  const Dropout& dropout = softmax.dropout;
  const PairPlaces places = placesFor(context_.rank(), q);
  const auto attend_one = [&](const Piece& piece, PieceIndex index) {
    AttentionResult block;
    {
      StageScope scope(observer, EventKind::kAttend, place, own, {.bytes = keyBytes(piece, k, v)});
      setPiece(scope.event(), piece, index);
      block = dropout.p > 0 ? attendPiecePlain(q, k, v, piece, softmax.rule, dropout, places)
                            : attendPiece(q, k, v, piece, softmax.rule, false, softmax.kernel);
      context_.seams.attention.block(context_.seamPlace(place, context_.rank()), piece, block);
    }
    observer.tensor({TensorKind::kBlockOut}, place, block.out, own, index);
    observer.tensor({TensorKind::kBlockLse}, place, block.lse, own, index);
    return block;
  };
  AttentionResult result = engine::attendWhole(q, pieces, attend_one);
  observer.tensor({TensorKind::kRunningLse}, place, result.lse, own);
  return result;
}

AttentionGradients BlockWorker::attendWholeBackward(const std::vector<Piece>& pieces,
                                                    const Place& place, const at::Tensor& dout,
                                                    const at::Tensor& q, const at::Tensor& k,
                                                    const at::Tensor& v,
                                                    const AttentionResult& result) const {
  const Softmax softmax = softmaxFor(place, context_.rank(), q);
  const Dropout& dropout = softmax.dropout;
  BackwardInputs in{dout, q, k, v, result, pieces, softmax.rule};
  context_.seams.attention.backward(context_.seamPlace(place, context_.rank()), in);
  const PairPlaces places = placesFor(context_.rank(), q);
  const auto attend_one = [&](const Piece& piece, PieceIndex index) {
    StageScope scope(context_.observer, EventKind::kAttend, place,
                     context_.worldRankFor(context_.rank()), {.bytes = keyBytes(piece, k, v)});
    setPiece(scope.event(), piece, index);
    return dropout.p > 0 ? attendPiecePlainBackward(in.dout, in.q, in.k, in.v, in.result, piece,
                                                    in.rule, dropout, places)
                         : attendPieceBackward(in.dout, in.q, in.k, in.v, in.result, piece, in.rule,
                                               false, softmax.kernel);
  };
  return engine::attendWholeBackward(in.q, in.k, in.v, pieces, attend_one);
}

AttentionResult BlockWorker::finished(RunningResult running, const at::Tensor& q, at::Tensor sinks,
                                      const Place& place) const {
  if (!running.out.defined()) running = emptyRunningResult(q);
  context_.seams.attention.sinks(context_.seamPlace(place), sinks);
  applySinks(running, sinks);
  return {running.out.to(q.scalar_type()), running.lse};
}

}  // namespace ringscope::engine
