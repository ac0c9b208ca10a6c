// SPDX-License-Identifier: Apache-2.0
// dq is recorded once a layer: which ring step's part is in it too often or not at all.
#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/recompute/precision.h"
#include "traces/analysis/verify/stage_gradients.h"

namespace ringscope::traces {
namespace {

using Seat = PlannedBlocks::Seat;

/// Rows of dq of one rank, one after the other: of each selected group, head and own token.
class DqOfSeat {
 public:
  DqOfSeat(const StageGradients& gradients, const Seat& seat)
      : g_(gradients),
        s_(gradients.setting),
        seat_(seat),
        recorded_(s_.layer.tensors.at(TensorKind::kDq).front().record->dtype) {
    const GatheredRows recorded = s_.layer.values(s_.trace, TensorKind::kDq, s_.selection);
    const auto heads = static_cast<std::size_t>(s_.layer.groupSize());
    for (std::size_t group = 0; group < s_.selection.groups.size(); ++group)
      for (std::size_t head = 0; head < heads; ++head)
        for (const std::size_t token : seat.rows) addRow(group, head, token, recorded);
    is_wrong_.assign(s_.selection.groups.size() * heads, false);
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (errorOf(row, {}, 0).ratio() > 1) is_wrong_[row / seat.rows.size()] = true;
  }

  /// Returns the error of the worst row in multiples of its limit.
  double worst() const { return ratioLess({}, 0); }

  /// Returns the part that a stage adds to the rows of wrong heads. Other heads have it once.
  std::vector<double> partFor(const StageRecord& stage) const {
    std::vector<double> part(errors_.size(), 0);
    const Seat* source = s_.plan.findSeat(stage.source_rank);
    const auto heads = static_cast<std::size_t>(s_.layer.groupSize());
    for (std::size_t group = 0; source && group < s_.selection.groups.size(); ++group)
      g_.visitPairs(seat_, stage, *source, group, [&](const StageGradients::Pair& pair) {
        if (!is_wrong_[group * heads + pair.head]) return;
        const std::size_t row = (group * heads + pair.head) * seat_.rows.size() + pair.query;
        for (std::size_t d = 0; d < s_.width(); ++d)
          part[row * s_.width() + d] += pair.of_score * pair.k[d];
      });
    return part;
  }

  /// How many times more the part is in dq than it should be, by least squares; 0: not at all.
  double surplusOf(const std::vector<double>& part) const {
    double both = 0, squares = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      both += errors_[i] * part[i];
      squares += part[i] * part[i];
    }
    return squares > 0 ? both / squares : 0;
  }

  /// The worst ratio when `times` the part is taken off.
  double ratioLess(const std::vector<double>& part, double times) const {
    double worst = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      worst = std::max(worst, errorOf(row, part, times).ratio());
    return worst;
  }

  void addWrongRows(WrongRows& wrong) const {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (const RowError error = errorOf(row, {}, 0); error.ratio() > 1) wrong.add(error);
  }

 private:
  void addRow(std::size_t group, std::size_t head, std::size_t token,
              const GatheredRows& recorded) {
    const auto heads = static_cast<std::size_t>(s_.layer.groupSize());
    const std::size_t row = (group * heads + head) * s_.layer.tokens.size() + token;
    const HeadGroup& of = s_.selection.groups[group];
    RowError error{of.batch, of.kv_head * s_.layer.groupSize() + static_cast<std::int64_t>(head),
                   s_.layer.tokens[token], seat_.rank};
    const std::int64_t local = error.head - s_.plan.firstHeadAt(seat_);
    const bool mine = recorded.ranks[row].exists() && local >= 0 &&
                      local < seat_.forward->q_head_end - seat_.forward->q_head_begin;
    const double* meant = &g_.meant.values().dq[row * s_.width()];
    const double* actual = &recorded.values[row * s_.width()];
    measure(error, {meant, s_.width()}, {actual, s_.width()});
    error.limit =
        g_.meant.limits().dq[row] + storedAgain(recorded_, computedType(s_.layer), error.size);
    rows_.push_back(error);
    for (std::size_t d = 0; d < s_.width(); ++d) errors_.push_back(mine ? actual[d] - meant[d] : 0);
  }

  RowError errorOf(std::size_t row, const std::vector<double>& part, double times) const {
    RowError error = rows_[row];
    double squares = 0;
    for (std::size_t i = row * s_.width(); i < (row + 1) * s_.width(); ++i) {
      const double left = errors_[i] - (part.empty() ? 0 : times * part[i]);
      squares += left * left;
    }
    error.error = std::sqrt(squares);
    return error;
  }

  const StageGradients& g_;
  const StageSetting& s_;
  const Seat& seat_;
  DType recorded_;  ///< type of the recorded dq
  std::vector<RowError> rows_;
  std::vector<double> errors_;  ///< recorded less meant
  std::vector<bool> is_wrong_;  ///< by group and head
};

}  // namespace

StageGradients::StageGradients(const StageSetting& of)
    : setting(of), meant(of.trace, of.layer, of.selection, of.mask, true) {
  out_ = of.layer.values(of.trace, TensorKind::kOut, of.selection).values;
  lse_ = of.layer.values(of.trace, TensorKind::kLse, of.selection).values;
}

void findDqPart(const StageGradients& gradients, std::vector<WrongStage>& wrong) {
  const StageSetting& s = gradients.setting;
  if (!s.layer.complete(TensorKind::kDq)) return;
  for (const auto& [rank, seat] : s.plan.seats()) {
    const DqOfSeat dq(gradients, seat);
    if (!(dq.worst() > 1)) continue;
    std::vector<WrongStage> explaining;
    for (const StageRecord& stage : seat.backward->stages) {
      const auto part = dq.partFor(stage);
      const double surplus = dq.surplusOf(part);
      if (surplus == 0 || !(dq.ratioLess(part, surplus) <= 1)) continue;
      explaining.push_back(
          {rank, stage.source_rank, stage.ring_step, PieceIndex::none(), TensorKind::kDq});
      explaining.back().times = 1 + surplus;
    }
    if (explaining.size() != 1) continue;  // of few rows any part explains what is wrong
    WrongRows rows;
    dq.addWrongRows(rows);
    rows.into(explaining.front());
    wrong.push_back(std::move(explaining.front()));
  }
}

}  // namespace ringscope::traces
