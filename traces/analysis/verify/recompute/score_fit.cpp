// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/score_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "traces/analysis/verify/recompute/least_squares.h"
#include "traces/analysis/verify/recompute/selection.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kRowsOfUnit = 12, kMostKeys = 512, kProbedUnits = 8;
constexpr int kMostRounds = 40;
constexpr double kSettled = 1e-12;  ///< the least share of the squares that a step must save
constexpr double kNear = 0.02;      ///< error ÷ size that a narrow type may leave

/// One query row: its products with the keys that it attends, their values, and the recorded out.
struct FitRow {
  std::vector<double> products;
  std::vector<const double*> values;
  const double* out = nullptr;
};

/// Rows of one query head on one rank.
struct Unit {
  std::size_t head = 0;        ///< of the layer
  std::optional<double> sink;  ///< of the head, if it is known
  std::vector<FitRow> rows;
};

/// The logarithms of scale and softcap, and the sink.
using Point = std::array<double, 3>;

/// The least-squares problem of one unit.
class UnitFit {
 public:
  UnitFit(const Unit& unit, std::size_t width, const FittedParts& parts)
      : unit_(unit), width_(width), parts_(parts), has_sink_(parts.sinks || unit.sink.has_value()) {
    if (parts.scale) free_.push_back(0);
    if (parts.softcap) free_.push_back(1);
    if (parts.sinks) free_.push_back(2);
    for (const FitRow& row : unit.rows)
      for (std::size_t d = 0; d < width; ++d) size_ += row.out[d] * row.out[d];
  }

  /// Returns the point with the least error, from the best of some starting points.
  Point solve(const ScoreRule& stated) const {
    Point best{std::log(stated.scale), std::log(std::max(stated.softcap, 1e-300)),
               unit_.sink.value_or(0)};
    double least = std::numeric_limits<double>::infinity();
    const Point origin = best;
    for (const double by_scale : starts(parts_.scale, {1, 0.125, 0.25, 0.5, 2, 4, 8, 16}))
      for (const double by_cap : starts(parts_.softcap, {1, 0.2, 5}))
        for (const double sink : starts(parts_.sinks, {1, -3, 4})) {
          Point at = origin;
          at[0] += std::log(by_scale);
          if (parts_.softcap) at[1] = std::log(by_cap * largestScore(std::exp(at[0])));
          if (parts_.sinks) at[2] = sink;
          const double error = squares(residuals(at));
          if (!(error < least)) continue;
          least = error;
          best = at;
        }
    return descend(best);
  }

  /// Returns error ÷ size at a point.
  double off(const Point& at) const {
    return std::sqrt(squares(residuals(at)) / std::max(size_, 1e-300));
  }

 private:
  static std::vector<double> starts(bool is_free, std::vector<double> all) {
    if (!is_free) all.resize(1);
    return all;
  }

  static double squares(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
  }

  double largestScore(double scale) const {
    double largest = 1e-3;
    for (const FitRow& row : unit_.rows)
      for (const double product : row.products)
        largest = std::max(largest, std::abs(scale * product));
    return largest;
  }

  /// Returns computed − recorded out in all rows.
  std::vector<double> residuals(const Point& at) const {
    const ScoreRule rule{std::exp(at[0]), at[1] > -600 ? std::exp(at[1]) : 0};
    std::vector<double> all;
    all.reserve(unit_.rows.size() * width_);
    std::vector<double> out(width_);
    for (const FitRow& row : unit_.rows) {
      double largest = has_sink_ ? at[2] : -std::numeric_limits<double>::infinity();
      for (const double product : row.products) largest = std::max(largest, rule.score(product));
      double sum = has_sink_ ? std::exp(at[2] - largest) : 0;
      std::ranges::fill(out, 0.0);
      for (std::size_t j = 0; j < row.products.size(); ++j) {
        const double weight = std::exp(rule.score(row.products[j]) - largest);
        sum += weight;
        for (std::size_t d = 0; d < width_; ++d) out[d] += weight * row.values[j][d];
      }
      for (std::size_t d = 0; d < width_; ++d) all.push_back(out[d] / sum - row.out[d]);
    }
    return all;
  }

  /// Levenberg's method; see Nocedal and Wright, "Numerical Optimization", section 10.3.
  Point descend(Point at) const {
    double damping = 1e-3;
    std::vector<double> now = residuals(at);
    for (int round = 0; round < kMostRounds && damping < 1e8; ++round) {
      const Point step = stepFrom(at, now, damping);
      Point next = at;
      for (const std::size_t i : free_) next[i] += std::clamp(step[i], -2.0, 2.0);
      std::vector<double> then = residuals(next);
      const double before = squares(now), after = squares(then);
      if (after < before) {
        at = next;
        now = std::move(then);
        damping *= 0.1;
        if (before - after <= kSettled * before) break;
      } else {
        damping *= 10;
      }
    }
    return at;
  }

  /// Solves the damped normal equations, whose unknowns are scaled to slopes of length 1.
  Point stepFrom(const Point& at, const std::vector<double>& now, double damping) const {
    constexpr double kDelta = 1e-6;
    std::vector<std::vector<double>> slopes, equations;
    for (const std::size_t i : free_) {
      Point moved = at;
      moved[i] += kDelta;
      slopes.push_back(residuals(moved));
      for (std::size_t r = 0; r < now.size(); ++r)
        slopes.back()[r] = (slopes.back()[r] - now[r]) / kDelta;
    }
    std::vector<double> lengths, sides;
    for (const auto& slope : slopes) {
      lengths.push_back(std::sqrt(dot(slope, slope)) + 1e-150);
      sides.push_back(-dot(slope, now) / lengths.back());
    }
    for (std::size_t i = 0; i < free_.size(); ++i) {
      equations.emplace_back(free_.size(), 0);
      for (std::size_t j = 0; j < free_.size(); ++j)
        equations[i][j] = dot(slopes[i], slopes[j]) / (lengths[i] * lengths[j]);
      equations[i][i] += damping;
    }
    Point step{};
    const auto inverse = invertMatrix(std::move(equations));
    for (std::size_t i = 0; inverse && i < free_.size(); ++i)
      step[free_[i]] = dot((*inverse)[i], sides) / lengths[i];
    return step;
  }

  const Unit& unit_;
  std::size_t width_;
  FittedParts parts_;
  bool has_sink_;
  std::vector<std::size_t> free_;
  double size_ = 0;
};

/// The recorded tensors of the selected rows.
struct Recorded {
  std::vector<double> q, k, v;
  GatheredRows out;
};

/// Returns indices into selection.rows of rows with 2 to kMostKeys keys.
std::vector<std::size_t> usefulRows(const LayerTensors& layer, const Selection& selection,
                                    const AttentionMask& mask) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < selection.rows.size(); ++i) {
    const TokenRun keys = mask.keysFor(layer.tokens[selection.rows[i]]);
    const auto first = std::ranges::lower_bound(layer.tokens, TokenIndex::of(keys.begin)),
               end = std::ranges::lower_bound(layer.tokens, TokenIndex::of(keys.end));
    if (const auto count = end - first; count >= 2 && count <= std::ssize(layer.tokens))
      rows.push_back(i);
  }
  return rows;
}

FitRow rowOf(const LayerTensors& layer, const Selection& selection, const AttentionMask& mask,
             const Recorded& all, std::size_t group, std::size_t index) {
  const auto width = static_cast<std::size_t>(layer.head_dim);
  FitRow row;
  const double* q = &all.q[index * width];
  row.out = &all.out.values[index * width];
  const TokenRun keys = mask.keysFor(layer.tokens[tokenIndex(selection, index)]);
  for (std::size_t j = 0; j < layer.tokens.size(); ++j) {
    const std::int64_t token = layer.tokens[j].value();
    if (token < keys.begin || token >= keys.end) continue;
    const std::size_t at = (group * layer.tokens.size() + j) * width;
    double product = 0;
    for (std::size_t d = 0; d < width; ++d) product += q[d] * all.k[at + d];
    row.products.push_back(product);
    row.values.push_back(&all.v[at]);
  }
  return row;
}

/// Returns some rows of each query head and rank. `sinks` are those that are known, by head.
std::vector<Unit> unitsOf(const LayerTensors& layer, const Selection& selection,
                          const AttentionMask& mask, const Recorded& all,
                          const std::vector<double>& sinks) {
  std::vector<Unit> units;
  const auto useful = usefulRows(layer, selection, mask);
  const auto heads = static_cast<std::size_t>(layer.groupSize());
  for (std::size_t g = 0; g < selection.groups.size(); ++g)
    for (std::size_t h = 0; h < heads; ++h) {
      std::map<WorldRank, std::vector<std::size_t>> by_rank;
      for (const std::size_t i : useful) {
        const std::size_t index = (g * heads + h) * selection.rows.size() + i;
        if (all.out.ranks[index].exists()) by_rank[all.out.ranks[index]].push_back(index);
      }
      for (const auto& [rank, indices] : by_rank) {
        Unit unit;
        unit.head = static_cast<std::size_t>(selection.groups[g].kv_head) * heads + h;
        if (!sinks.empty()) unit.sink = sinks[unit.head];
        const std::size_t count = std::min(indices.size(), kRowsOfUnit);
        for (std::size_t n = 0; n < count; ++n)
          unit.rows.push_back(
              rowOf(layer, selection, mask, all, g, indices[n * indices.size() / count]));
        units.push_back(std::move(unit));
      }
    }
  return units;
}

/// Brings units that lie evenly among all to the front. Returns their number.
std::size_t bringProbesForward(std::vector<Unit>& units) {
  const std::size_t count = std::min(units.size(), kProbedUnits);
  for (std::size_t n = 0; n < count; ++n) std::swap(units[n], units[n * units.size() / count]);
  return count;
}

double medianOf(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::optional<ScoreFit> fitScores(const Trace& trace, const LayerTensors& layer,
                                  const Selection& selection, const AttentionMask& mask,
                                  const FittedParts& parts) {
  if (!layer.complete(TensorKind::kOut)) return std::nullopt;
  const auto load = [&](TensorKind kind) { return layer.values(trace, kind, selection); };
  const Recorded all{load(TensorKind::kQ).values, load(TensorKind::kK).values,
                     load(TensorKind::kV).values, load(TensorKind::kOut)};
  const auto known = layer.sinks && !parts.sinks ? trace.values(*layer.sinks) : std::nullopt;
  std::vector<Unit> units =
      unitsOf(layer, selection, mask, all, known.value_or(std::vector<double>()));
  if (units.empty()) return std::nullopt;
  const auto width = static_cast<std::size_t>(layer.head_dim);
  std::vector<double> scales, softcaps;
  const std::size_t probes = bringProbesForward(units);
  std::size_t near = 0;
  for (std::size_t n = 0; n < units.size(); ++n) {
    // The probes that are left cannot make a majority of all probes.
    if (n <= probes && 2 * (near + probes - n) <= probes) return std::nullopt;
    const UnitFit fit(units[n], width, parts);
    const Point at = fit.solve(layer.scores);
    if (!(fit.off(at) < kNear)) continue;
    ++near;
    scales.push_back(at[0]);
    softcaps.push_back(at[1]);
  }
  if (2 * near <= units.size()) return std::nullopt;
  ScoreFit result;
  result.scores = layer.scores;
  if (parts.scale) result.scores.scale = std::exp(medianOf(scales));
  if (parts.softcap) result.scores.softcap = std::exp(medianOf(softcaps));
  if (!parts.sinks) return result;
  std::vector<std::vector<double>> of_heads(static_cast<std::size_t>(layer.heads));
  for (const Unit& unit : units)
    of_heads[unit.head].push_back(
        UnitFit(unit, width, {false, false, true}).solve(result.scores)[2]);
  for (auto& sinks : of_heads) result.sinks.push_back(sinks.empty() ? 0 : medianOf(sinks));
  return result;
}

}  // namespace ringscope::traces
