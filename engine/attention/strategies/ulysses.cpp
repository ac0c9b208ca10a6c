// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/ulysses.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

using traces::Direction;
using traces::Payload;
using traces::Place;

namespace {

at::Tensor heads(const at::Tensor& t, const std::vector<std::int64_t>& which) {
  return t.index_select(1, at::tensor(which, at::kLong).to(t.device()));
}

/// Returns `t` with zeros for the heads that no rank attends.
at::Tensor withAllHeads(const at::Tensor& t, std::int64_t all) {
  if (t.size(1) == all) return t;
  auto shape = t.sizes().vec();
  shape[1] = all - t.size(1);
  return at::cat({t, at::zeros(shape, t.options())}, 1);
}

}  // namespace

UlyssesAttention::UlyssesAttention(RankContext& context, Group group,
                                   std::vector<ShardLayout::Segment> segments,
                                   std::unique_ptr<ContextParallelOp> inner)
    : ContextParallelOp(context),
      group_(std::move(group)),
      segments_(std::move(segments)),
      inner_(std::move(inner)) {}

at::Tensor UlyssesAttention::join(const std::vector<at::Tensor>& members) const {
  std::vector<at::Tensor> rows;
  for (const auto& s : segments_)
    rows.push_back(members[s.member.index()].slice(2, s.offset, s.offset + s.run.count));
  return at::cat(rows, 2);
}

std::vector<at::Tensor> UlyssesAttention::split(const at::Tensor& joined) const {
  std::vector<std::map<std::int64_t, at::Tensor>> by_offset(
      static_cast<std::size_t>(group_.size()));
  std::int64_t at = 0;
  for (const auto& s : segments_) {
    by_offset[s.member.index()][s.offset] = joined.slice(2, at, at + s.run.count);
    at += s.run.count;
  }
  std::vector<at::Tensor> members;
  for (const auto& parts : by_offset) {
    std::vector<at::Tensor> rows;
    rows.reserve(parts.size());
    for (const auto& [offset, part] : parts) rows.push_back(part);
    members.push_back(at::cat(rows, 2));
  }
  return members;
}

void UlyssesAttention::setTrainStep(std::int32_t step) {
  train_step_ = step;
  inner_->setTrainStep(step);
}

void UlyssesAttention::setSinks(at::Tensor sinks) {
  if (sinks.defined()) {
    const std::int64_t each = sinks.size(0) / group_.size();
    std::int64_t first = group_.rank().value() * each;
    context_.seams.attention.first_sink(context_.seamPlace({train_step_}), first);
    sinks = sinks.slice(0, first, first + each);
  }
  inner_->setSinks(std::move(sinks));
}

HopTotals UlyssesAttention::hops() const {
  HopTotals all = inner_->hops();
  all.heads_forward += hops_.heads_forward;
  all.heads_backward += hops_.heads_backward;
  all.bytes_forward += hops_.bytes_forward;
  all.bytes_backward += hops_.bytes_backward;
  all.wait_ns += hops_.wait_ns;
  return all;
}

std::vector<std::vector<at::Tensor>> UlyssesAttention::swap(
    const std::vector<std::vector<at::Tensor>>& parts,
    const std::vector<std::vector<std::int64_t>>& shapes, const Place& place) {
  const MemoryScope scope(MemoryCategory::kInFlight);
  std::vector<at::Tensor> sends, receives;
  std::int64_t elements = 0;
  for (const auto& shape : shapes) elements += c10::multiply_integers(shape);
  for (const auto& part : parts) {
    std::vector<at::Tensor> flat;
    flat.reserve(part.size());
    for (const at::Tensor& t : part) flat.push_back(t.reshape({-1}));
    sends.push_back(at::cat(flat));
    receives.push_back(at::empty({elements}, sends.back().options()));
  }
  Exchange exchange = group_.allToAll(sends, receives);
  finish(exchange, Payload::kHeads, context_.rank(), GroupRank::none(), place);
  std::vector<std::vector<at::Tensor>> result;
  for (const at::Tensor& message : receives) {
    std::vector<at::Tensor> tensors;
    std::int64_t offset = 0;
    for (const auto& shape : shapes) {
      const std::int64_t count = c10::multiply_integers(shape);
      tensors.push_back(message.slice(0, offset, offset + count).view(shape));
      offset += count;
    }
    result.push_back(std::move(tensors));
  }
  return result;
}

at::Tensor UlyssesAttention::toHeads(const at::Tensor& t, const Place& place) {
  const std::int64_t mine = t.size(1) / group_.size();
  std::vector<std::vector<at::Tensor>> parts;
  parts.reserve(static_cast<std::size_t>(group_.size()));
  for (int r = 0; r < group_.size(); ++r) parts.push_back({t.slice(1, r * mine, (r + 1) * mine)});
  auto shape = t.sizes().vec();
  shape[1] = mine;
  std::vector<at::Tensor> pieces;
  for (auto& from : swap(parts, {shape}, place)) pieces.push_back(from.front());
  return join(pieces);
}

at::Tensor UlyssesAttention::toSequence(const at::Tensor& t, const Place& place) {
  const std::int64_t local = t.size(2) / group_.size();
  std::vector<std::vector<at::Tensor>> parts;
  for (const at::Tensor& member : split(t)) parts.push_back({member});
  auto shape = t.sizes().vec();
  shape[2] = local;
  std::vector<at::Tensor> pieces;
  for (auto& from : swap(parts, {shape}, place)) pieces.push_back(from.front());
  return at::cat(pieces, 1);
}

UlyssesAttention::ByHeads UlyssesAttention::turned(const at::Tensor& q, const at::Tensor& k,
                                                   const at::Tensor& v, const HeadSplit& heads_of,
                                                   const Place& place) {
  std::vector<std::vector<at::Tensor>> parts;
  parts.reserve(static_cast<std::size_t>(group_.size()));
  for (int r = 0; r < group_.size(); ++r) {
    const auto& kv = heads_of.kv_heads[static_cast<std::size_t>(r)];
    parts.push_back({q.slice(1, r * heads_of.query_heads, (r + 1) * heads_of.query_heads),
                     heads(k, kv), heads(v, kv)});
  }
  auto q_shape = q.sizes().vec(), kv_shape = k.sizes().vec();
  q_shape[1] = heads_of.query_heads;
  kv_shape[1] = static_cast<std::int64_t>(heads_of.kv_heads[group_.rank().index()].size());
  std::vector<at::Tensor> joined[3];
  for (auto& from : swap(parts, {q_shape, kv_shape, kv_shape}, place))
    for (std::size_t i = 0; i < 3; ++i) joined[i].push_back(from[i]);
  return {join(joined[0]), join(joined[1]), join(joined[2]), {}};
}

HeadSplit UlyssesAttention::headsFor(const at::Tensor& q, const at::Tensor& k,
                                     const Place& place) const {
  HeadSplit split = HeadSplit::of(q.size(1), k.size(1), group_.size());
  context_.seams.attention.heads(context_.seamPlace(place), split);
  return split;
}

AttentionResult UlyssesAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                          const at::Tensor& v, Layer layer) {
  const Place place = placeFor(RingStep::of(0), layer, Direction::kForward);
  const HeadSplit heads_of = headsFor(q, k, place);
  context_.arriveAt(place);
  ByHeads by_heads = turned(q, k, v, heads_of, place);
  by_heads.result = inner_->forward(by_heads.q, by_heads.k, by_heads.v, layer);
  AttentionResult result{withAllHeads(toSequence(by_heads.result.out, place), q.size(1)),
                         withAllHeads(toSequence(by_heads.result.lse, place), q.size(1))};
  kept_[layer] = std::move(by_heads);
  return result;
}

AttentionGradients UlyssesAttention::backwardSums(const at::Tensor& dout, const at::Tensor& q,
                                                  const at::Tensor& k, const at::Tensor&,
                                                  const AttentionResult&, Layer layer) {
  const Place place = placeFor(RingStep::of(0), layer, Direction::kBackward);
  const HeadSplit heads_of = headsFor(q, k, place);
  context_.arriveAt(place);
  const ByHeads by_heads = std::move(kept_.at(layer));
  kept_.erase(layer);
  const AttentionGradients g = inner_->backwardSums(toHeads(dout, place), by_heads.q, by_heads.k,
                                                    by_heads.v, by_heads.result, layer);
  const auto dq = split(g.dq), dk = split(g.dk), dv = split(g.dv);
  std::vector<std::vector<at::Tensor>> parts;
  for (std::size_t r = 0; r < dq.size(); ++r) parts.push_back({dq[r], dk[r], dv[r]});
  return fromHeads(parts, heads_of, q, k, place);
}

AttentionGradients UlyssesAttention::fromHeads(const std::vector<std::vector<at::Tensor>>& parts,
                                               const HeadSplit& heads_of, const at::Tensor& q,
                                               const at::Tensor& k, const Place& place) {
  auto q_shape = q.sizes().vec(), kv_shape = k.sizes().vec();
  q_shape[1] = heads_of.query_heads;
  kv_shape[1] = static_cast<std::int64_t>(heads_of.kv_heads.front().size());
  const auto received = swap(parts, {q_shape, kv_shape, kv_shape}, place);
  const auto type = received.front().front().options();
  AttentionGradients sums{at::zeros(q.sizes(), type), at::zeros(k.sizes(), type),
                          at::zeros(k.sizes(), type)};
  for (int r = 0; r < group_.size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    sums.dq.slice(1, r * heads_of.query_heads, (r + 1) * heads_of.query_heads)
        .copy_(received[i][0]);
    // Several ranks may attend the same KV head; their gradients are added up.
    const at::Tensor index = at::tensor(heads_of.kv_heads[i], at::kLong).to(k.device());
    sums.dk.index_add_(1, index, received[i][1]);
    sums.dv.index_add_(1, index, received[i][2]);
  }
  return sums;
}

}  // namespace ringscope::engine
