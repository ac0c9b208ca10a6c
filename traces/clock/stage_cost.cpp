// SPDX-License-Identifier: Apache-2.0
#include "traces/clock/stage_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "traces/verify/least_squares.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kParts = 7;
using Parts = std::array<double, kParts>;

Parts partsOf(const StageSample& sample) {
  return {sample.calls, sample.flops,       sample.bytes,    sample.scores,
          sample.tiles, sample.small_flops, sample.far_bytes};
}

double costOf(const Parts& cost, const Parts& parts) {
  double seconds = 0;
  for (std::size_t i = 0; i < kParts; ++i) seconds += cost[i] * parts[i];
  return seconds;
}

/// Of rows that are divided by what they are thought to take: Σ parts·partsᵀ, Σ parts·time, Σ
/// time².
struct Sums {
  std::array<Parts, kParts> squares{};
  Parts sums{};
  double times = 0;

  /// `thought`: a cost; nothing: the times themselves.
  Sums(const std::vector<StageSample>& samples, const std::optional<Parts>& thought) {
    for (const StageSample& sample : samples) {
      if (!(sample.seconds > 0)) continue;
      Parts parts = partsOf(sample);
      const double most = thought ? costOf(*thought, parts) : sample.seconds;
      if (!(most > 0)) continue;
      const double time = sample.seconds / most;
      for (double& part : parts) part /= most;
      for (std::size_t i = 0; i < kParts; ++i) {
        sums[i] += parts[i] * time;
        for (std::size_t j = 0; j < kParts; ++j) squares[i][j] += parts[i] * parts[j];
      }
      times += time * time;
    }
  }
};

/// Least squares over the parts of `chosen` alone, a bit each; nothing where they cannot be told
/// apart. Each part is scaled to 1 first.
std::optional<Parts> solve(const Sums& sums, unsigned chosen) {
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < kParts; ++i)
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
  Parts found{};
  for (std::size_t i = 0; i < n; ++i) found[parts[i]] = dot((*inverse)[i], sides) / scale[i];
  return found;
}

double squaredError(const Sums& sums, const Parts& parts) {
  double error = sums.times;
  for (std::size_t i = 0; i < kParts; ++i) {
    error -= 2 * parts[i] * sums.sums[i];
    for (std::size_t j = 0; j < kParts; ++j) error += parts[i] * sums.squares[i][j] * parts[j];
  }
  return error;
}

Parts nearest(const Sums& sums) {
  Parts best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned chosen = 1; chosen < 1U << kParts; ++chosen) {
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

void StageSample::add(const StageSample& more) {
  calls += more.calls;
  flops += more.flops;
  bytes += more.bytes;
  seconds += more.seconds;
  scores += more.scores;
  tiles += more.tiles;
  small_flops += more.small_flops;
  far_bytes += more.far_bytes;
}

double StageCost::secondsOf(const StageSample& done) const {
  return costOf({fixed, per_flop, per_byte, per_score, per_tile, per_small_flop, per_far_byte},
                partsOf(done));
}

StageCost fitStageCost(const std::vector<StageSample>& samples) {
  constexpr int kRounds = 8;  // shares of the times alone would come out too small
  Parts cost = nearest(Sums(samples, std::nullopt));
  for (int round = 0; round < kRounds; ++round) cost = nearest(Sums(samples, cost));
  return {cost[0], cost[1], cost[2], cost[3], cost[4], cost[5], cost[6]};
}

}  // namespace ringscope::traces
