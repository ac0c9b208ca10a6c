// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/fit_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "traces/analysis/verify/recompute/least_squares.h"

namespace ringscope::traces {
namespace {

/// Of rows that are divided by what they are thought to take: Σ parts·partsᵀ, Σ parts·time, Σ
/// time².
struct Sums {
  std::array<CostParts, kCostParts> squares{};
  CostParts sums{};
  double times = 0;

  /// `thought`: a cost; nothing: the times themselves.
  Sums(const std::vector<CostSample>& samples, const std::optional<CostParts>& thought) {
    for (const CostSample& sample : samples) {
      if (!(sample.seconds > 0)) continue;
      CostParts parts = sample.parts;
      const double most = thought ? secondsOf(*thought, parts) : sample.seconds;
      if (!(most > 0)) continue;
      const double time = sample.seconds / most;
      for (double& part : parts) part /= most;
      for (std::size_t i = 0; i < kCostParts; ++i) {
        sums[i] += parts[i] * time;
        for (std::size_t j = 0; j < kCostParts; ++j) squares[i][j] += parts[i] * parts[j];
      }
      times += time * time;
    }
  }
};

/// Least squares over the parts of `chosen` alone, a bit each; nothing where they cannot be told
/// apart. Each part is scaled to 1 first.
std::optional<CostParts> solve(const Sums& sums, unsigned chosen) {
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < kCostParts; ++i)
    if ((chosen >> i & 1U) != 0) parts.push_back(i);
  const std::size_t n = parts.size();
  std::vector<double> scale(n), sides(n);
  for (std::size_t i = 0; i < n; ++i) {
    scale[i] = std::sqrt(sums.squares[parts[i]][parts[i]]);
    if (!(scale[i] > 0)) return std::nullopt;
    sides[i] = sums.sums[parts[i]] / scale[i];
  }
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      rows[i][j] = sums.squares[parts[i]][parts[j]] / scale[i] / scale[j];
  const auto inverse = inverseOf(std::move(rows));
  if (!inverse) return std::nullopt;
  CostParts found{};
  for (std::size_t i = 0; i < n; ++i) found[parts[i]] = dot((*inverse)[i], sides) / scale[i];
  return found;
}

double squaredError(const Sums& sums, const CostParts& parts) {
  double error = sums.times;
  for (std::size_t i = 0; i < kCostParts; ++i) {
    error -= 2 * parts[i] * sums.sums[i];
    for (std::size_t j = 0; j < kCostParts; ++j) error += parts[i] * sums.squares[i][j] * parts[j];
  }
  return error;
}

CostParts nearest(const Sums& sums) {
  CostParts best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned chosen = 1; chosen < 1U << kCostParts; ++chosen) {
    const auto parts = solve(sums, chosen);
    if (!parts || std::ranges::any_of(*parts, [](double part) { return part < 0; })) continue;
    const double error = squaredError(sums, *parts);
    if (error < least) {
      least = error;
      best = *parts;
    }
  }
  return best;
}

}  // namespace

double secondsOf(const CostParts& cost, const CostParts& parts) {
  double seconds = 0;
  for (std::size_t i = 0; i < kCostParts; ++i) seconds += cost[i] * parts[i];
  return seconds;
}

CostParts fitCosts(const std::vector<CostSample>& samples) {
  constexpr int kRounds = 8;  // shares of the times alone would come out too small
  CostParts cost = nearest(Sums(samples, std::nullopt));
  for (int round = 0; round < kRounds; ++round) cost = nearest(Sums(samples, cost));
  return cost;
}

}  // namespace ringscope::traces
