// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/merge_history.h"

#include <cmath>
#include <limits>

namespace ringscope::viz {

using traces::Event;
using traces::Place;
using traces::TensorRecord;
using traces::Trace;

namespace {

/// Values of a recorded tensor [B, H, S] or [B, H, S, D], read by row.
struct Rows {
  const TensorRecord* record = nullptr;
  std::vector<double> values;

  static std::optional<Rows> load(const Trace& trace, const char* name, const Place& place,
                                  int rank) {
    const TensorRecord* record = trace.findTensor(name, place, rank);
    auto values = record && record->shape.size() >= 3 ? trace.values(*record) : std::nullopt;
    if (!values) return std::nullopt;
    return Rows{record, std::move(*values)};
  }
  std::int64_t width() const { return record->shape.size() == 4 ? record->shape[3] : 1; }
  bool holds(std::int64_t head, std::int64_t query) const {
    return head >= 0 && head < record->shape[1] && query >= 0 && query < record->shape[2];
  }
  double at(std::int64_t head, std::int64_t query, std::int64_t d = 0) const {
    return values[static_cast<std::size_t>((head * record->shape[2] + query) * width() + d)];
  }
};

/// Merges block after block in fp64.
struct Accumulator {
  double lse = -std::numeric_limits<double>::infinity();
  std::vector<double> out, sum;

  void add(const Rows& block_out, double block_lse, std::int64_t head, std::int64_t query) {
    const auto width = static_cast<std::size_t>(block_out.width());
    out.resize(width);
    sum.resize(width);
    const double m = std::max(lse, block_lse);
    const double mine = std::exp(lse - m), theirs = std::exp(block_lse - m);
    for (std::size_t d = 0; d < width; ++d) {
      const double value = block_out.at(head, query, static_cast<std::int64_t>(d));
      out[d] = (mine * out[d] + theirs * value) / (mine + theirs);
      sum[d] += value;
    }
    lse = m + std::log(mine + theirs);
  }
};

double largestError(const std::vector<double>& values, const Rows& recorded, std::int64_t head,
                    std::int64_t query) {
  double largest = 0;
  for (std::size_t d = 0; d < values.size(); ++d)
    largest = std::max(
        largest, std::abs(values[d] - recorded.at(head, query, static_cast<std::int64_t>(d))));
  return largest;
}

}  // namespace

MergeHistory mergeHistory(const Trace& trace, const traces::MomentIndex& index, Place pass,
                          int rank, std::int64_t head, std::int64_t query) {
  MergeHistory history;
  pass.direction = traces::Direction::kForward;
  pass.stage = -1;
  const auto out = Rows::load(trace, "out", pass, rank), lse = Rows::load(trace, "lse", pass, rank);
  if (!out || !lse || !out->holds(head, query)) {
    history.missing = "--capture values:steps=" + std::to_string(pass.train_step);
    return history;
  }
  history.lse = lse->at(head, query);
  history.out = out->at(head, query);
  Accumulator all;
  for (pass.stage = 0; !index.eventsOf(pass, rank).empty(); ++pass.stage) {
    MergeStep step;
    step.ring_step = pass.stage;
    for (const auto i : index.eventsOf(pass, rank)) {
      const Event& event = trace.events(rank)[i];
      if (event.kind == traces::EventKind::kSend) step.source_rank = event.source_rank;
      if (event.kind != traces::EventKind::kAttend) continue;
      step.source_rank = event.source_rank;
      const auto block_out = Rows::load(trace, "block_out", pass, rank),
                 block_lse = Rows::load(trace, "block_lse", pass, rank);
      const std::int64_t row = query - event.q_begin;
      if (!block_out || !block_lse || !block_lse->holds(head, row)) continue;
      step.attended = true;
      step.block_lse = block_lse->at(head, row);
      step.weight = std::exp(step.block_lse - history.lse);
      all.add(*block_out, step.block_lse, head, row);
    }
    step.running_lse = all.lse;
    step.running_out = all.out.empty() ? 0 : all.out.front();
    history.steps.push_back(step);
  }
  if (all.out.empty()) {
    history.missing = "--capture values:steps=" + std::to_string(pass.train_step);
    return history;
  }
  history.merged = all.out.front();
  history.naive = all.sum.front();
  history.largest_error_merged = largestError(all.out, *out, head, query);
  history.largest_error_naive = largestError(all.sum, *out, head, query);
  return history;
}

}  // namespace ringscope::viz
