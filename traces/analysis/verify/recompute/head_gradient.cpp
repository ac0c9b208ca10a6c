// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/head_gradient.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/analysis/verify/recompute/least_squares.h"

namespace ringscope::traces {
namespace {

using Values = std::vector<double>;

/// Finds the factor of each rank's part of one slice.
void solve(const HeadParts& head, const HeadParts::Slice& slice, HeadGradient& reading) {
  std::vector<std::size_t> known;
  std::vector<Values> columns;
  for (std::size_t i = 0; i < slice.parts.size(); ++i)
    if (dot(slice.parts[i], slice.parts[i]) > 0) {
      known.push_back(i);
      columns.push_back(slice.parts[i]);
    }
  const auto solution = leastSquares(columns, slice.products.front(), head.rounding);
  if (!solution) return;
  for (std::size_t i = 0; i < known.size(); ++i)
    reading.ranks.push_back({slice.ranks[known[i]], solution->factors[i], solution->errors[i]});
  reading.off_by_rank = std::max(reading.off_by_rank, solution->off);
}

}  // namespace

double HeadGradient::room(const RankFactor& rank) const {
  constexpr double kSure = 6;  // standard errors beyond which a deviation is not chance
  double largest = 0;          // a part that was made smaller has a smaller rounding error
  for (const RankFactor& other : ranks) largest = std::max(largest, std::abs(other.factor));
  return largest * rounding / 2 + kSure * rank.error;
}

bool HeadGradient::isMadeSmaller() const {
  if (!isOfFactors()) return false;
  bool smaller = false;
  for (const RankFactor& rank : ranks) {
    if (rank.factor > 1 + room(rank) || rank.factor < -room(rank)) return false;
    smaller = smaller || rank.factor < 1 - room(rank);
  }
  const auto low = std::ranges::min_element(
      ranks, {}, [&](const RankFactor& rank) { return rank.factor + room(rank); });
  const auto high = std::ranges::max_element(
      ranks, {}, [&](const RankFactor& rank) { return rank.factor - room(rank); });
  return smaller && low->factor + room(*low) < high->factor - room(*high);
}

std::vector<std::int32_t> stepsWithGradients(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kGradient && tensor.has_values)
      steps.insert(tensor.place.train_step);
  return {steps.begin(), steps.end()};
}

HeadGradient fitHeadGradient(const HeadParts& head) {
  HeadGradient reading;
  reading.parameter = head.parameter;
  reading.open = head.open;
  reading.rounding = head.rounding;
  if (!head.alike) {
    reading.missing = "needs gradients that all ranks have alike";
    reading.recorded = true;
    return reading;
  }
  Values left, right;
  for (const HeadParts::Slice& slice : head.slices) {
    left.insert(left.end(), slice.products.front().begin(), slice.products.front().end());
    Values sum(slice.products.front().size(), 0);
    for (const Values& part : slice.parts)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    right.insert(right.end(), sum.begin(), sum.end());
  }
  const double right_size = dot(right, right);
  const double size = std::sqrt(std::max(right_size, dot(left, left)));
  reading.factor = dot(left, right) / right_size;
  reading.off = distance(left, right, 1) / size;
  reading.off_scaled = distance(left, right, reading.factor) / size;
  for (const HeadParts::Slice& slice : head.slices) solve(head, slice, reading);
  return reading;
}

HeadGradient readHeadGradient(const Trace& trace, std::int32_t train_step) {
  try {
    return fitHeadGradient(headParts(trace, train_step));
  } catch (const MissingTensor& missing) {
    HeadGradient reading;
    reading.missing = missing.why;
    reading.recorded = missing.recorded;
    return reading;
  }
}

}  // namespace ringscope::traces
