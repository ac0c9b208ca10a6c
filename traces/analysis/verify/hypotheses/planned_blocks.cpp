// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/hypotheses/planned_blocks.h"

#include <algorithm>
#include <limits>

#include "traces/format/trace/own_tokens.h"

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
    const auto* forward = trace.schedule(layer.pass.train_step, rank, Direction::kForward);
    if (!forward) return std::nullopt;
    auto rows = rowsFor(*forward, layer);
    if (!rows) return std::nullopt;
    const auto* backward = trace.schedule(layer.pass.train_step, rank, Direction::kBackward);
    std::vector<std::size_t>& local = plan.local_[rank];
    local.assign(layer.tokens.size(), rows->size());
    for (std::size_t i = 0; i < rows->size(); ++i) {
      local[(*rows)[i]] = i;
      attended[(*rows)[i]] += forward->q_head_end - forward->q_head_begin;
    }
    plan.first_head_ = std::min(plan.first_head_, forward->q_head_begin);
    plan.seats_[rank] = {rank, forward, backward ? backward : forward, std::move(*rows)};
  }
  const bool whole =
      std::ranges::all_of(attended, [&](std::int64_t heads) { return heads == layer.heads; });
  return whole ? std::optional(std::move(plan)) : std::nullopt;
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
    const Seat* data = findSeat(used ? used(seat, *source).values : stage.source_rank);
    const Seat* home = findSeat(used ? used(seat, *source).sums : stage.source_rank);
    for (const PieceRecord& piece : stage.pieces) {
      if (row < piece.q_begin || row >= piece.q_end || !data || !home) continue;
      KeyBlock block{stage.source_rank, {}};
      const auto end = std::min({static_cast<std::size_t>(piece.k_end), source->rows.size(),
                                 data->rows.size(), home->rows.size()});
      for (auto key = static_cast<std::size_t>(piece.k_begin); key < end; ++key)
        if (allowed(token, source->rows[key]))
          block.keys.push_back({data->rows[key], home->rows[key]});
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

}  // namespace ringscope::traces
