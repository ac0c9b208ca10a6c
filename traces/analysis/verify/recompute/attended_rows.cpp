// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/attended_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "traces/analysis/verify/recompute/row_keys.h"
#include "traces/analysis/verify/recompute/selection.h"
#include "traces/analysis/verify/recompute/sixteen_bits.h"

namespace ringscope::traces {
namespace {

constexpr double kToleranceOfSixteenBits = 0.02;

bool has(const TokenRun& run, std::int64_t key) {
  return run.begin <= key && key < run.end;
}

}  // namespace

AttendedRows::AttendedRows(const Trace& trace, const LayerTensors& layer,
                           const Selection& selection, std::vector<double> sinks)
    : layer_(layer),
      selection_(selection),
      width_(static_cast<std::size_t>(layer.head_dim)),
      q_(layer.values(trace, TensorKind::kQ, selection).values),
      k_(layer.values(trace, TensorKind::kK, selection).values),
      v_(layer.values(trace, TensorKind::kV, selection).values),
      out_(layer.values(trace, TensorKind::kOut, selection).values),
      sinks_(std::move(sinks)),
      tolerance_(fitSixteenBits(out_) ? kToleranceOfSixteenBits : kToleranceOfRow) {}

AttendedRows::Row AttendedRows::rowAt(std::size_t row) const {
  const auto heads = static_cast<std::size_t>(layer_.groupSize());
  const std::size_t keys = layer_.tokens.size(), group = row / selection_.rows.size() / heads;
  Row found{part(out_, row, 1), part(v_, group * keys, keys), {}};
  const std::span<const double> q = part(q_, row, 1), k = part(k_, group * keys, keys);
  for (std::size_t key = 0; key < keys; ++key)
    found.weights.push_back(layer_.scores.score(std::inner_product(
        q.begin(), q.end(), k.begin() + static_cast<std::ptrdiff_t>(key * width_), 0.0)));
  const double largest = std::ranges::max(found.weights);
  for (double& weight : found.weights) weight = std::exp(weight - largest);
  if (!sinks_.empty()) found.sink = std::exp(sinks_[headIndex(layer_, selection_, row)] - largest);
  return found;
}

std::optional<std::vector<TokenRun>> AttendedRows::keys(std::size_t row) const {
  const Row at = rowAt(row);
  if (std::ranges::any_of(at.out, [](double x) { return !std::isfinite(x); })) return std::nullopt;
  const std::size_t own = tokenIndex(selection_, row);
  const auto keys =
      findRowKeys({at.out, at.weights, at.v, tolerance_, at.sink}, static_cast<std::int64_t>(own));
  return keys && leavesOutOwnKey(*keys, at.weights, own) ? std::nullopt : keys;
}

bool AttendedRows::agrees(std::size_t row, const TokenRun& keys) const {
  const Row at = rowAt(row);
  double sum = at.sink, largest = 0, square = 0;
  std::vector<double> off(width_);
  for (std::size_t d = 0; d < width_; ++d) off[d] = -at.sink * at.out[d];
  for (std::size_t key = 0; key < at.weights.size(); ++key) {
    double size = 0;
    const bool attended = has(keys, static_cast<std::int64_t>(key));
    for (std::size_t d = 0; d < width_; ++d) {
      const double v = at.v[key * width_ + d];
      size += v * v;
      if (attended) off[d] += at.weights[key] * (v - at.out[d]);
    }
    largest = std::max(largest, size);
    if (attended) sum += at.weights[key];
  }
  for (const double x : off) square += x * x;
  return sum > 0 && square <= tolerance_ * tolerance_ * largest * sum * sum;
}

/// Reports whether a row attends keys and not its own, which no mask of a decoder does. A key of
/// little weight does not show.
bool AttendedRows::leavesOutOwnKey(const std::vector<TokenRun>& keys,
                                   const std::vector<double>& weights, std::size_t own) const {
  double sum = 0;
  for (const TokenRun& run : keys) {
    if (has(run, static_cast<std::int64_t>(own))) return false;
    sum += std::accumulate(weights.begin() + run.begin, weights.begin() + run.end, 0.0);
  }
  constexpr double kShows = 10;
  return sum > 0 && weights[own] > kShows * tolerance_ * sum;
}

}  // namespace ringscope::traces
