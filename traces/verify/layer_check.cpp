// SPDX-License-Identifier: Apache-2.0
#include "traces/verify/layer_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "traces/core/error.h"
#include "traces/core/prose.h"
#include "traces/verify/row_limits.h"
#include "traces/verify/selection.h"

namespace ringscope::traces {
namespace {

/// e4m3 has three bits of fraction.
constexpr double kFp8Roundoff = 0x1p-4;
/// Of the exponential in fused kernels of 16-bit types (see row_limits.cpp).
constexpr double kShortExponential = 0x1p-12;

/// Why what was recorded cannot be recomputed, or nothing.
std::vector<std::string> hindrances(const Trace& trace, const LayerTensors& layer,
                                    const IntentRecord* intent) {
  std::vector<std::string> reasons = layer.blocking;
  if (!intent)
    reasons.push_back("which mask was meant is not recorded");
  else if (intent->mask == MaskKind::kDocuments && intent->documents.empty())
    reasons.push_back("which documents the mask keeps apart is not recorded");
  if (trace.run() && trace.run()->dropout > 0)
    reasons.push_back("with dropout " + describeSignificant(trace.run()->dropout, 2) +
                      " the recording does not say which weights were dropped");
  return reasons;
}

/// Blocks that a rank merges into its rows: the pieces of its schedule, or one a rank.
int mergesOf(const Trace& trace, std::int32_t train_step, WorldRank rank, std::size_t ranks) {
  const auto* schedule = trace.schedule(train_step, rank, Direction::kForward);
  if (!schedule) return static_cast<int>(ranks);
  std::size_t pieces = 0;
  for (const StageRecord& stage : schedule->stages) pieces += stage.pieces.size();
  return static_cast<int>(pieces);
}

Precision precisionOf(const Trace& trace, const LayerTensors& layer, const Selection& selection) {
  const auto out = layer.tensors.find(TensorKind::kOut);
  const auto& recorded = out == layer.tensors.end() || out->second.empty()
                             ? layer.tensors.at(TensorKind::kQ)
                             : out->second;
  const DType dtype = recorded.front().record->dtype;
  Precision precision;
  precision.stored = unitRoundoff(dtype);
  precision.sums =
      dtype == DType::kFloat64 ? 2 * unitRoundoff(dtype) : unitRoundoff(DType::kFloat32);
  const bool two_bytes = dtype == DType::kBFloat16 || dtype == DType::kFloat16;
  precision.exponential = two_bytes ? kShortExponential : 40 * precision.sums;
  precision.tiny = underflow(dtype);
  if (trace.run() && trace.run()->fp8) precision.wire = kFp8Roundoff;
  std::map<WorldRank, int> merges;
  int most = 0;
  for (const WorldRank owner : std::set<WorldRank>(layer.owners.begin(), layer.owners.end())) {
    merges[owner] = mergesOf(trace, layer.pass.train_step, owner, layer.ranks);
    most = std::max(most, merges[owner]);
  }
  const int sinks = layer.sinks ? 1 : 0;  // merged as a block is
  for (const std::size_t row : selection.rows)
    precision.merges.push_back(merges[layer.owners[row]] + sinks);
  precision.key_parts = most * static_cast<int>(layer.groupSize());
  return precision;
}

/// Compares recorded rows with recomputed ones.
class Comparison {
 public:
  Comparison(const Trace& trace, const LayerTensors& layer, const Selection& selection)
      : trace_(trace), layer_(layer), selection_(selection) {}

  /// `exact`: values of the rows; `limits`: one a row.
  TensorCheck compare(TensorKind kind, const std::vector<double>& exact,
                      const std::vector<double>& limits) const {
    const GatheredRows recorded = layer_.values(trace_, kind, selection_);
    const double roundoff = unitRoundoff(layer_.tensors.at(kind).front().record->dtype);
    const std::size_t width = exact.size() / std::max<std::size_t>(1, limits.size());
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
      RowError error = placeOf(kind, row);
      error.rank = recorded.ranks[row];
      measure(error, right, actual);
      error.limit = limits[row];
      // A type of its own for lse or the gradients rounds once more.
      if (std::isfinite(error.size)) error.limit += roundoff * error.size;
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

  static void measure(RowError& error, std::span<const double> right,
                      std::span<const double> actual) {
    double squares = 0, size = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i] == actual[i] && std::isinf(right[i])) continue;
      squares += (right[i] - actual[i]) * (right[i] - actual[i]);
      size += right[i] * right[i];
    }
    error.error = std::sqrt(squares);
    error.size = std::sqrt(size);
  }

  /// The row of a selection's number: [groups, heads of the group, rows].
  RowError placeOf(TensorKind kind, std::size_t row) const {
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

/// The selected rows of q, k, v and dout, with their heads' sinks, as one attention of a batch
/// entry a group.
struct SelectedInputs {
  SelectedInputs(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                 AttentionMask mask, bool backward)
      : q(layer.values(trace, TensorKind::kQ, selection).values),
        k(layer.values(trace, TensorKind::kK, selection).values),
        v(layer.values(trace, TensorKind::kV, selection).values) {
    if (backward) dout = layer.values(trace, TensorKind::kDout, selection).values;
    if (layer.sinks) selectSinks(trace, layer, selection);
    in.batch = static_cast<std::int64_t>(selection.groups.size());
    in.heads = layer.groupSize();
    in.kv_heads = 1;
    in.head_dim = layer.head_dim;
    for (const std::size_t row : selection.rows) in.q_tokens.push_back(layer.tokens[row]);
    in.k_tokens = layer.tokens;
    in.q = q;
    in.k = k;
    in.v = v;
    in.dout = dout;
    in.sinks = sinks;
    in.scale = 1 / std::sqrt(static_cast<double>(layer.head_dim));
    in.mask = std::move(mask);
  }
  SelectedInputs(const SelectedInputs&) = delete;
  SelectedInputs& operator=(const SelectedInputs&) = delete;

  std::vector<double> q, k, v, dout, sinks;
  AttentionInputs in;

 private:
  void selectSinks(const Trace& trace, const LayerTensors& layer, const Selection& selection) {
    const auto all = trace.values(*layer.sinks);
    if (!all) throw inputError("the values of the attention sinks are missing");
    sinks.reserve(selection.groups.size() * static_cast<std::size_t>(layer.groupSize()));
    for (const HeadGroup& group : selection.groups)
      for (std::int64_t h = 0; h < layer.groupSize(); ++h)
        sinks.push_back((*all)[static_cast<std::size_t>(group.kv_head * layer.groupSize() + h)]);
  }
};

}  // namespace

double RowError::ratio() const {
  if (error == 0) return 0;
  return std::isfinite(error) && limit > 0 ? error / limit
                                           : std::numeric_limits<double>::infinity();
}

double LayerCheck::worstRatio() const {
  double worst = 0;
  for (const TensorCheck& tensor : tensors) worst = std::max(worst, tensor.worst.ratio());
  return worst;
}

LayerCheck checkLayer(const Trace& trace, const LayerPass& pass,
                      const std::vector<WorldRank>& members, double work) {
  LayerCheck check;
  check.pass = pass;
  check.members = members;
  const LayerTensors layer = findLayer(trace, pass, members);
  const IntentRecord* intent =
      members.empty() ? nullptr : trace.intent(pass.train_step, members.front());
  check.skipped = hindrances(trace, layer, intent);
  if (!check.skipped.empty()) return check;
  check.skipped = layer.missing;
  const bool backward = layer.complete(TensorKind::kDout);
  const AttentionMask mask = AttentionMask::of(*intent);
  check.selection = selectRows(layer, mask, backward, work, check.skipped);
  const SelectedInputs selected(trace, layer, check.selection, mask, backward);
  check.work =
      static_cast<double>(selected.in.batch * selected.in.heads) *
      attentionWork(selected.in.q_tokens, selected.in.k_tokens, mask, layer.head_dim, backward);
  const Precision precision = precisionOf(trace, layer, check.selection);
  RowLimits row_limits(selected.in, precision);
  const AttentionValues exact =
      attend(selected.in, [&](const AttentionRow& row) { row_limits.visit(row); });
  const Limits limits = row_limits.finish(exact);
  const Comparison comparison(trace, layer, check.selection);
  const auto add = [&](TensorKind kind, const std::vector<double>& values,
                       const std::vector<double>& of_rows) {
    const auto parts = layer.tensors.find(kind);
    if (parts != layer.tensors.end() && !parts->second.empty() && !of_rows.empty())
      check.tensors.push_back(comparison.compare(kind, values, of_rows));
  };
  add(TensorKind::kOut, exact.out, limits.out);
  add(TensorKind::kLse, exact.lse, limits.lse);
  add(TensorKind::kDq, exact.dq, limits.dq);
  if (check.selection.rows.size() < layer.tokens.size()) return check;
  add(TensorKind::kDk, exact.dk, limits.dk);
  add(TensorKind::kDv, exact.dv, limits.dv);
  return check;
}

}  // namespace ringscope::traces
