// SPDX-License-Identifier: Apache-2.0
#include "traces/clock/stage_cost.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace ringscope::traces {
namespace {

constexpr std::size_t kParts = 3;
using Parts = std::array<double, kParts>;

Parts partsOf(const StageSample& sample) {
  return {sample.stages, sample.flops, sample.bytes};
}

/// Of rows that are divided by their time: Σ parts·partsᵀ, and Σ parts.
struct Sums {
  std::array<Parts, kParts> squares{};
  Parts sums{};
  double rows = 0;

  explicit Sums(const std::vector<StageSample>& samples) {
    for (const StageSample& sample : samples) {
      if (!(sample.seconds > 0)) continue;
      const Parts parts = partsOf(sample);
      for (std::size_t i = 0; i < kParts; ++i) {
        sums[i] += parts[i] / sample.seconds;
        for (std::size_t j = 0; j < kParts; ++j)
          squares[i][j] += parts[i] / sample.seconds * parts[j] / sample.seconds;
      }
      ++rows;
    }
  }
};

/// Least squares over the parts of `chosen` alone, a bit each; nothing where they cannot be told
/// apart. By elimination, after scaling each part to 1.
std::optional<Parts> solve(const Sums& sums, unsigned chosen) {
  constexpr double kSingular = 1e-9;
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < kParts; ++i)
    if ((chosen >> i & 1U) != 0) parts.push_back(i);
  const std::size_t n = parts.size();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1));
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i) {
    scale[i] = std::sqrt(sums.squares[parts[i]][parts[i]]);
    if (!(scale[i] > 0)) return std::nullopt;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      rows[i][j] = sums.squares[parts[i]][parts[j]] / scale[i] / scale[j];
    rows[i][n] = sums.sums[parts[i]] / scale[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (rows[i][i] < kSingular) return std::nullopt;
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const double factor = rows[k][i] / rows[i][i];
      for (std::size_t j = i; j <= n; ++j) rows[k][j] -= factor * rows[i][j];
    }
  }
  Parts found{};
  for (std::size_t i = 0; i < n; ++i) found[parts[i]] = rows[i][n] / rows[i][i] / scale[i];
  return found;
}

double squaredError(const Sums& sums, const Parts& parts) {
  double error = sums.rows;
  for (std::size_t i = 0; i < kParts; ++i) {
    error -= 2 * parts[i] * sums.sums[i];
    for (std::size_t j = 0; j < kParts; ++j) error += parts[i] * sums.squares[i][j] * parts[j];
  }
  return error;
}

}  // namespace

StageCost fitStageCost(const std::vector<StageSample>& samples) {
  const Sums sums(samples);
  Parts best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned chosen = 1; chosen < 1U << kParts; ++chosen) {
    const auto parts = solve(sums, chosen);
    if (!parts || (*parts)[0] < 0 || (*parts)[1] < 0 || (*parts)[2] < 0) continue;
    const double error = squaredError(sums, *parts);
    if (error < least) {
      least = error;
      best = *parts;
    }
  }
  return {best[0], best[1], best[2]};
}

}  // namespace ringscope::traces
