// SPDX-License-Identifier: Apache-2.0
// Dropout: whether forward and backward drop the same weights.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "traces/analysis/doctor/few_keys.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// dropout_rng_reused: dropped weights are not recorded, but rows with few keys tell them. Among all
// masks over their keys, out follows from one and dq from another.
namespace {

constexpr std::size_t kMostKeys = 8, kMostRows = 32;
constexpr std::int64_t kMostGroups = 4;

/// A query row of one head, with the keys that it attends.
struct QueryRow {
  std::vector<double> weights;  ///< before dropout: exp(score − lse)
  std::vector<double> slopes;   ///< derivatives of the scores by q·k
  std::vector<const double*> k, v;
  const double *out = nullptr, *dout = nullptr, *dq = nullptr;
  std::size_t width = 0;
  double keep = 1;  ///< by which a weight that stays is multiplied
};

double dotOf(const double* a, const double* b, std::size_t width) {
  return std::inner_product(a, a + width, b, 0.0);
}

/// Returns the masks over the row's keys, as bits, with which Σ factor(kept, key)·vectors[key] is
/// `sum` within a tolerance of its size.
template <typename Factor>
std::vector<std::uint32_t> masksThatGive(const double* sum,
                                         const std::vector<const double*>& vectors,
                                         std::size_t width, double tolerance, Factor factor) {
  const std::size_t keys = vectors.size();
  double size = 0;
  for (std::size_t key = 0; key < keys; ++key)
    size += (std::abs(factor(true, key)) + std::abs(factor(false, key))) *
            std::sqrt(dotOf(vectors[key], vectors[key], width));
  std::vector<std::uint32_t> masks;
  std::vector<double> left(width);
  for (std::uint32_t mask = 0; mask < (1u << keys); ++mask) {
    std::copy(sum, sum + width, left.begin());
    for (std::size_t key = 0; key < keys; ++key) {
      const double by = factor((mask >> key & 1u) != 0, key);
      for (std::size_t i = 0; i < width; ++i) left[i] -= by * vectors[key][i];
    }
    if (std::sqrt(dotOf(left.data(), left.data(), width)) <= tolerance * size)
      masks.push_back(mask);
  }
  return masks;
}

/// The rows of which the masks were compared.
struct MaskTally {
  int alike = 0, unlike = 0, neither = 0;
  double bits = 0;  ///< bits that would have to be alike by chance

  void add(const QueryRow& row, double tolerance) {
    const auto forward = masksThatGive(
        row.out, row.v, row.width, tolerance,
        [&](bool kept, std::size_t key) { return kept ? row.keep * row.weights[key] : 0; });
    const double delta = dotOf(row.dout, row.out, row.width);
    const auto backward =
        masksThatGive(row.dq, row.k, row.width, tolerance, [&](bool kept, std::size_t key) {
          const double dweight = kept ? row.keep * dotOf(row.dout, row.v[key], row.width) : 0;
          return row.slopes[key] * row.weights[key] * (dweight - delta);
        });
    if (forward.empty() || backward.empty()) {
      ++neither;
      return;
    }
    std::vector<std::uint32_t> both;
    std::ranges::set_intersection(forward, backward, std::back_inserter(both));
    ++(both.empty() ? unlike : alike);
    bits += static_cast<double>(row.weights.size()) -
            std::log2(static_cast<double>(std::max(forward.size(), backward.size())));
  }
};

/// Compares the masks of one layer of one group.
MaskTally compareMasks(const Trace& trace, const LayerTensors& layer, const AttentionMask& mask) {
  MaskTally tally;
  const auto rows = rowsWithFewKeys(layer, mask, kMostKeys, kMostRows);
  Selection selection;
  for (const RowKeys& row : rows) selection.rows.push_back(row.row);
  const DType dtype = layer.tensors.at(TensorKind::kOut).front().record->dtype;
  const double tolerance = isNarrow(dtype) ? 0.02 : 1e-4;
  for (std::int64_t g = 0; g < std::min(layer.batch * layer.kv_heads, kMostGroups); ++g) {
    selection.groups = {{g / layer.kv_heads, g % layer.kv_heads}};
    const auto load = [&](TensorKind kind) { return layer.values(trace, kind, selection).values; };
    const auto q = load(TensorKind::kQ), k = load(TensorKind::kK), v = load(TensorKind::kV),
               out = load(TensorKind::kOut), lse = load(TensorKind::kLse),
               dout = load(TensorKind::kDout), dq = load(TensorKind::kDq);
    QueryRow row;
    row.width = static_cast<std::size_t>(layer.head_dim);
    row.keep = 1 / (1 - trace.run()->dropout);
    for (std::size_t i = 0; i < lse.size(); ++i) {
      const RowKeys& of = rows[i % rows.size()];
      row.weights = computeScores(layer, q.data() + i * row.width, k, of.keys);
      row.slopes.clear();
      for (double& weight : row.weights) {
        row.slopes.push_back(layer.scores.scale * layer.scores.slope(weight));
        weight = std::exp(weight - lse[i]);
      }
      row.k.clear();
      row.v.clear();
      for (const std::size_t key : of.keys) {
        row.k.push_back(k.data() + key * row.width);
        row.v.push_back(v.data() + key * row.width);
      }
      row.out = out.data() + i * row.width;
      row.dout = dout.data() + i * row.width;
      row.dq = dq.data() + i * row.width;
      tally.add(row, tolerance);
    }
  }
  return tally;
}

Finding dropoutRngReusedFinding(const LayerPass& pass, const MaskTally& tally) {
  const int rows = tally.alike + tally.unlike;
  return {.title = "Backward drops other weights than forward did",
          .place = {pass.train_step, pass.layer, Direction::kBackward, {}},
          .buffer = "dq",
          .evidence = "Of rows with at most " + std::to_string(kMostKeys) +
                      " keys it can be told which weights were dropped: out follows from one "
                      "choice and dq from one. They are not the same in " +
                      std::to_string(tally.unlike) + " of " + std::to_string(rows) + " rows.",
          .remedy =
              "Keep the state of the generator of each layer and ring step with what backward is "
              "given, and draw its mask from that again; or make masks a function of the place of "
              "the pair."};
}

bool hasDropoutTensors(const LayerTensors& layer) {
  return layer.blocking.empty() &&
         std::ranges::all_of(
             std::vector{TensorKind::kOut, TensorKind::kLse, TensorKind::kDout, TensorKind::kDq},
             [&](TensorKind kind) { return layer.complete(kind); });
}

}  // namespace

RuleResult checkDropoutRngReused(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (!run) return notObservable("needs the chance of dropout, q, k, v, out, lse, dout and dq");
  if (run->dropout <= 0 || run->dropout >= 1) return clear();
  constexpr double kSure = 24;  // bits that are not alike by chance
  constexpr int kFew = 2;
  MaskTally all;
  for (const LayerPass& pass : recordedLayers(trace).with_values)
    for (const auto& members : sequenceGroups(trace, {pass.train_step, pass.microbatch})) {
      if (members.empty()) continue;
      const LayerTensors layer = findLayer(trace, pass, members);
      const IntentRecord* intent =
          trace.intent(pass.train_step, members.front(), pass.layer, pass.microbatch);
      if (!intent || !hasDropoutTensors(layer)) continue;
      const MaskTally tally = compareMasks(trace, layer, AttentionMask::of(*intent));
      if (tally.unlike >= kFew && tally.unlike > tally.neither)
        return found(dropoutRngReusedFinding(pass, tally));
      all.alike += tally.alike;
      all.unlike += tally.unlike;
      all.neither += tally.neither;
      all.bits += tally.bits;
    }
  if (all.alike + all.unlike + all.neither == 0 && recordedLayers(trace).with_values.empty())
    return notObservable("needs q, k, v, out, lse, dout and dq of one layer");
  if (all.unlike == 0 && all.alike > all.neither && all.bits >= kSure) return clear();
  return undecided("needs more rows of at most " + std::to_string(kMostKeys) +
                   " keys whose out and dq tell which weights were dropped");
}

}  // namespace ringscope::traces
