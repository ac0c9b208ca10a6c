// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/hypotheses/planned_blocks.h"

#include <algorithm>
#include <limits>

#include "traces/format/trace/own_tokens.h"
#include "traces/plan/ring_order.h"

namespace ringscope::traces {
namespace {

/// The tokens that a schedule attends, as indices into the layer's; nothing when one is not there.
std::optional<std::vector<std::size_t>> rowsFor(const ScheduleRecord& schedule,
                                                const LayerTensors& layer) {
  const auto tokens = attendedTokens(schedule, layer.tokens.size() + 1);
  std::vector<std::size_t> rows;
  rows.reserve(tokens.size());
  for (const TokenIndex token : tokens) {
    const auto at = std::ranges::lower_bound(layer.tokens, token);
    if (at == layer.tokens.end() || *at != token) return std::nullopt;
    rows.push_back(static_cast<std::size_t>(at - layer.tokens.begin()));
  }
  return rows;
}

}  // namespace

std::optional<PlannedBlocks> PlannedBlocks::of(const Trace& trace, const LayerTensors& layer,
                                               const std::vector<WorldRank>& members) {
  PlannedBlocks plan;
  plan.first_head_ = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> attended(layer.tokens.size(), 0);
  for (const WorldRank rank : members) {
    const auto* forward = trace.schedule(layer.pass.train_step, rank, Direction::kForward,
                                         layer.pass.layer, layer.pass.microbatch);
    if (!forward) return std::nullopt;
    auto rows = rowsFor(*forward, layer);
    if (!rows) return std::nullopt;
    const auto* backward = trace.schedule(layer.pass.train_step, rank, Direction::kBackward,
                                          layer.pass.layer, layer.pass.microbatch);
    for (const std::size_t row : *rows)
      attended[row] += forward->q_head_end - forward->q_head_begin;
    plan.first_head_ = std::min(plan.first_head_, forward->q_head_begin);
    plan.addSeat({rank, forward, backward ? backward : forward, std::move(*rows)},
                 layer.tokens.size());
  }
  const bool whole =
      std::ranges::all_of(attended, [&](std::int64_t heads) { return heads == layer.heads; });
  return whole ? std::optional(std::move(plan)) : std::nullopt;
}

std::optional<PlannedBlocks> PlannedBlocks::ofRing(const Trace& trace, const LayerTensors& layer,
                                                   const std::vector<WorldRank>& members) {
  PlannedBlocks plan;
  const auto& parts = layer.tensors.at(TensorKind::kQ);
  const auto size = static_cast<int>(members.size());
  const RingOrder order = RingOrder::of(size, Direction::kForward, Order::kDiagonalFirst);
  for (int seat = 0; seat < size; ++seat) {
    const WorldRank rank = members[static_cast<std::size_t>(seat)];
    const auto part = std::ranges::find(parts, rank, &RankTensor::rank);
    if (part == parts.end() || std::ssize(part->heads) != layer.heads ||
        trace.schedule(layer.pass.train_step, rank, Direction::kForward, layer.pass.layer,
                       layer.pass.microbatch))
      return std::nullopt;
    ScheduleRecord& schedule = plan.ring_[rank];
    schedule.rank = rank;
    schedule.ring = members;
    schedule.q_head_end = layer.heads;
    const auto rows = std::ssize(part->tokens);
    for (int step = 0; step < size; ++step) {
      const WorldRank source = members[order.source(GroupRank::of(seat), step).index()];
      const auto of_source = std::ranges::find(parts, source, &RankTensor::rank);
      if (of_source == parts.end()) return std::nullopt;
      StageRecord& stage = schedule.stages.emplace_back();
      stage.ring_step = RingStep::of(step);
      stage.source_rank = source;
      stage.pieces = {{0, rows, 0, std::ssize(of_source->tokens)}};
    }
    plan.addSeat({rank, &schedule, &schedule, part->tokens}, layer.tokens.size());
  }
  return plan;
}

void PlannedBlocks::addSeat(Seat seat, std::size_t tokens) {
  std::vector<std::size_t>& local = local_[seat.rank];
  local.assign(tokens, seat.rows.size());
  for (std::size_t i = 0; i < seat.rows.size(); ++i) local[seat.rows[i]] = i;
  const WorldRank rank = seat.rank;
  seats_.emplace(rank, std::move(seat));
}

bool PlannedBlocks::holds(const Seat& seat, std::size_t token) const {
  return local_.at(seat.rank)[token] < seat.rows.size();
}

const PlannedBlocks::Seat* PlannedBlocks::findSeat(std::int64_t head, std::size_t token) const {
  for (const auto& [rank, seat] : seats_) {
    const std::int64_t of_model = head + first_head_;
    if (of_model >= seat.forward->q_head_begin && of_model < seat.forward->q_head_end &&
        holds(seat, token))
      return &seat;
  }
  return nullptr;
}

const PlannedBlocks::Seat* PlannedBlocks::findSeat(WorldRank rank) const {
  const auto seat = seats_.find(rank);
  return seat == seats_.end() ? nullptr : &seat->second;
}

KeyBlocks PlannedBlocks::blocksFor(const Seat& seat, Direction direction, std::size_t token,
                                   const KeyFilter& allowed, const SourceChoice& used) const {
  KeyBlocks blocks;
  const auto row = static_cast<std::int64_t>(local_.at(seat.rank)[token]);
  const ScheduleRecord& schedule =
      direction == Direction::kForward ? *seat.forward : *seat.backward;
  for (const StageRecord& stage : schedule.stages) {
    const Seat* source = findSeat(stage.source_rank);
    if (!source) continue;
    const Choice choice = used ? used(seat, *source) : Choice{source->rank, source->rank};
    const Seat *data = findSeat(choice.values), *home = findSeat(choice.sums);
    for (const PieceRecord& piece : stage.pieces) {
      if (row < piece.q_begin || row >= piece.q_end || !data) continue;
      KeyBlock block{stage.source_rank, {}};
      const auto end = std::min({static_cast<std::size_t>(piece.k_end), source->rows.size(),
                                 data->rows.size(), home ? home->rows.size() : data->rows.size()});
      for (auto key = static_cast<std::size_t>(piece.k_begin); key < end; ++key)
        if (allowed(token, source->rows[key]))
          block.keys.push_back({data->rows[key], home ? home->rows[key] : kNowhere});
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

}  // namespace ringscope::traces
