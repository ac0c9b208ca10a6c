// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "traces/analysis/verify/recompute/precision.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Rounding errors of other programs that do not cancel, because the inputs have one sign, grow to
/// this many units of a row.
constexpr double kForeignUnits = 64;

/// The comparison of recorded rows with recomputed ones.
class Comparison {
 public:
  Comparison(const Trace& trace, const LayerTensors& layer, const Selection& selection)
      : trace_(trace), layer_(layer), selection_(selection) {}

  /// Compares a tensor. `exact` has the values of the rows, `limits` one limit per row.
  TensorCheck compare(TensorKind kind, const std::vector<double>& exact,
                      const std::vector<double>& limits) const {
    const GatheredRows recorded = layer_.values(trace_, kind, selection_);
    const DType of_tensor = layer_.tensors.at(kind).front().record->dtype,
                of_sums = computedType(layer_),
                computed = kind == TensorKind::kLse ? typeOfSums(of_sums) : of_sums;
    const std::size_t width = exact.size() / std::max<std::size_t>(1, limits.size());
    const double least =
        isFromOtherProgram(trace_) ? kForeignUnits * unitRoundoff(typeOfSums(of_sums)) : 0;
    TensorCheck check;
    check.kind = kind;
    check.ratios.assign(limits.size(), std::numeric_limits<float>::quiet_NaN());
    std::set<WorldRank> wrong;
    for (std::size_t row = 0; row < limits.size(); ++row) {
      if (recorded.ranks[row].isNone()) continue;
      const std::span<const double> right(exact.data() + row * width, width);
      const std::span<const double> actual(recorded.values.data() + row * width, width);
      if (!comparable(kind, right)) {
        ++check.not_finite;
        continue;
      }
      RowError error = placeFor(kind, row);
      error.rank = recorded.ranks[row];
      measure(error, right, actual);
      error.limit =
          std::max(limits[row] + storedAgain(of_tensor, computed, error.size), least * error.size);
      ++check.rows;
      check.ratios[row] = static_cast<float>(error.ratio());
      if (error.ratio() > 1) wrong.insert(error.rank);
      if (check.rows == 1 || error.ratio() > check.worst.ratio()) check.worst = error;
    }
    check.wrong_ranks.assign(wrong.begin(), wrong.end());
    return check;
  }

 private:
  static bool comparable(TensorKind kind, std::span<const double> right) {
    return std::ranges::all_of(right, [kind](double value) {
      return std::isfinite(value) || (mayBeInfinite(kind) && value < 0);
    });
  }

  /// Returns the place of a row by its index in a selection: [groups, heads of the group, rows].
  RowError placeFor(TensorKind kind, std::size_t row) const {
    const bool keys = isOfKeys(kind);
    const std::size_t rows = keys ? layer_.tokens.size() : selection_.rows.size();
    const std::size_t heads = keys ? 1 : static_cast<std::size_t>(layer_.groupSize());
    const HeadGroup& group = selection_.groups[row / rows / heads];
    RowError error;
    error.batch = group.batch;
    error.head = group.kv_head * static_cast<std::int64_t>(heads) +
                 static_cast<std::int64_t>(row / rows % heads);
    error.token = layer_.tokens[keys ? row % rows : selection_.rows[row % rows]];
    return error;
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  const Selection& selection_;
};

}  // namespace

void measure(RowError& row, std::span<const double> right, std::span<const double> actual) {
  double squares = 0, size = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (right[i] == actual[i] && std::isinf(right[i])) continue;
    squares += (right[i] - actual[i]) * (right[i] - actual[i]);
    size += right[i] * right[i];
  }
  row.error = std::sqrt(squares);
  row.size = std::sqrt(size);
}

double RowError::ratio() const {
  if (error == 0) return 0;
  return std::isfinite(error) && limit > 0 ? error / limit
                                           : std::numeric_limits<double>::infinity();
}

std::vector<TensorCheck> compareAll(const Trace& trace, const LayerTensors& layer,
                                    const Selection& selection, const AttentionValues& computed,
                                    const Limits& limits) {
  std::vector<TensorCheck> checks;
  const auto add = [&](TensorKind kind, const std::vector<double>& values,
                       const std::vector<double>& of_rows) {
    const auto parts = layer.tensors.find(kind);
    if (parts != layer.tensors.end() && !parts->second.empty() && !of_rows.empty())
      checks.push_back(Comparison(trace, layer, selection).compare(kind, values, of_rows));
  };
  add(TensorKind::kOut, computed.out, limits.out);
  add(TensorKind::kLse, computed.lse, limits.lse);
  add(TensorKind::kDq, computed.dq, limits.dq);
  if (selection.rows.size() < layer.tokens.size()) return checks;
  add(TensorKind::kDk, computed.dk, limits.dk);
  add(TensorKind::kDv, computed.dv, limits.dv);
  return checks;
}

std::string describeRatio(double ratio) {
  return ratio < 0.1 ? describeSignificant(ratio, 2) + "×" : describeMultiple(ratio);
}

bool isOfBackward(const TensorCheck& tensor) {
  return tensor.kind != TensorKind::kOut && tensor.kind != TensorKind::kLse;
}

double worstRatio(const std::vector<TensorCheck>& tensors) {
  double worst = 0;
  for (const TensorCheck& tensor : tensors) worst = std::max(worst, tensor.worst.ratio());
  return worst;
}

}  // namespace ringscope::traces
