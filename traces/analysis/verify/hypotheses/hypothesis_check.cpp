// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/hypotheses/hypothesis_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "traces/analysis/verify/hypotheses/hypothesis.h"
#include "traces/analysis/verify/hypotheses/made.h"
#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

/// Multiply-adds of one pair block by block, for each that attend() takes.
constexpr double kWorkOfBlocks = 4;

/// Number of attentions with a mistake, roughly, by which work is shared out.
constexpr double kForms = 100;

const TensorCheck& worstTensor(const std::vector<TensorCheck>& wrong) {
  return *std::ranges::max_element(wrong, {},
                                   [](const TensorCheck& tensor) { return tensor.worst.ratio(); });
}

/// All rows of the KV head with the worst row.
Selection worstHead(const LayerTensors& layer, const TensorCheck& worst) {
  const std::int64_t heads = isOfKeys(worst.kind) ? 1 : layer.groupSize();
  Selection selection;
  selection.groups = {{worst.worst.batch, worst.worst.head / heads}};
  selection.rows.resize(layer.tokens.size());
  std::iota(selection.rows.begin(), selection.rows.end(), std::size_t{0});
  return selection;
}

double norm(const std::vector<double>& values, std::size_t row, std::size_t width) {
  double squares = 0;
  for (std::size_t i = row * width; i < (row + 1) * width; ++i) squares += values[i] * values[i];
  return std::sqrt(squares);
}

/// Limit ÷ size of the row in the middle of those that are not 0.
double usualShare(const std::vector<double>& limits, const std::vector<double>& sizes) {
  std::vector<double> shares;
  for (std::size_t row = 0; row < limits.size(); ++row)
    if (sizes[row] > 0) shares.push_back(limits[row] / sizes[row]);
  if (shares.empty()) return 0;
  const auto middle = shares.begin() + std::ssize(shares) / 2;
  std::ranges::nth_element(shares, middle);
  return *middle;
}

/// Limits of rows that a mistake makes larger grow with them; of rows that were 0 they are then
/// what they usually are.
std::vector<double> grown(std::vector<double> limits, const std::vector<double>& meant,
                          const std::vector<double>& computed) {
  const std::size_t width = limits.empty() ? 0 : computed.size() / limits.size();
  std::vector<double> was(limits.size()), is(limits.size());
  for (std::size_t row = 0; row < limits.size(); ++row) {
    was[row] = norm(meant, row, width);
    is[row] = norm(computed, row, width);
  }
  const double share = usualShare(limits, was);
  for (std::size_t row = 0; row < limits.size(); ++row) {
    if (!std::isfinite(is[row])) continue;
    if (was[row] > 0 && is[row] > was[row]) limits[row] *= is[row] / was[row];
    limits[row] = std::max(limits[row], share * is[row]);
  }
  return limits;
}

Limits grown(const Limits& limits, const AttentionValues& meant, const AttentionValues& computed) {
  return {grown(limits.out, meant.out, computed.out), limits.lse,
          grown(limits.dq, meant.dq, computed.dq), grown(limits.dk, meant.dk, computed.dk),
          grown(limits.dv, meant.dv, computed.dv)};
}

/// Some row of what a hypothesis gives is further from what was meant than rounding explains.
bool differs(const std::vector<double>& meant, const std::vector<double>& computed,
             const std::vector<double>& limits) {
  const std::size_t width = limits.empty() ? 0 : computed.size() / limits.size();
  for (std::size_t row = 0; row < limits.size(); ++row) {
    double squares = 0;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i)
      if (meant[i] != computed[i]) squares += (meant[i] - computed[i]) * (meant[i] - computed[i]);
    if (!(std::sqrt(squares) <= limits[row])) return true;
  }
  return false;
}

bool differs(const AttentionValues& meant, const AttentionValues& computed, const Limits& limits) {
  return differs(meant.out, computed.out, limits.out) ||
         differs(meant.lse, computed.lse, limits.lse) ||
         differs(meant.dq, computed.dq, limits.dq) || differs(meant.dk, computed.dk, limits.dk) ||
         differs(meant.dv, computed.dv, limits.dv);
}

const std::vector<double>& valuesOf(const AttentionValues& values, TensorKind kind) {
  switch (kind) {
    case TensorKind::kLse:
      return values.lse;
    case TensorKind::kDq:
      return values.dq;
    case TensorKind::kDk:
      return values.dk;
    case TensorKind::kDv:
      return values.dv;
    default:
      return values.out;
  }
}

/// The sample, and where it stands among the values of its kind.
std::pair<RecordedSample, std::size_t> worstSample(const Trace& trace, const LayerTensors& layer,
                                                   const Selection& selection,
                                                   const AttentionValues& meant,
                                                   const std::vector<TensorCheck>& wrong) {
  const auto& worst = *std::ranges::max_element(
      wrong, {}, [](const TensorCheck& tensor) { return tensor.worst.ratio(); });
  const auto rank = [](float ratio) { return std::isnan(ratio) ? -1 : ratio; };
  const auto row = static_cast<std::size_t>(std::ranges::max_element(worst.ratios, {}, rank) -
                                            worst.ratios.begin());
  const std::vector<double>&values = valuesOf(meant, worst.kind),
        recorded = layer.values(trace, worst.kind, selection).values;
  const std::size_t width = values.size() / worst.ratios.size();
  std::size_t at = row * width;
  for (std::size_t i = at; i < (row + 1) * width; ++i)
    if (std::abs(recorded[i] - values[i]) > std::abs(recorded[at] - values[at])) at = i;
  return {{worst.kind, worst.worst, at - row * width, recorded[at], values[at]}, at};
}

bool isForwardWrong(const std::vector<TensorCheck>& tensors) {
  return std::ranges::any_of(tensors, [](const TensorCheck& tensor) {
    return !isOfBackward(tensor) && tensor.worst.ratio() > 1;
  });
}

std::vector<TensorCheck> ofForward(std::vector<TensorCheck> tensors) {
  std::erase_if(tensors, isOfBackward);
  return tensors;
}

/// Returns the limits of the tensors that a hypothesis computes.
Limits limitsOf(const MeantAttention& meant, const BlockedAttention& how) {
  if (how.isForwardOnly()) return {meant.limits().out, meant.limits().lse, {}, {}, {}};
  return meant.limits();
}

/// Adds a check, or keeps the nearer of two checks of one mistake.
void keepBest(std::vector<HypothesisCheck>& checks, HypothesisCheck check) {
  const auto known = std::ranges::find(checks, check.mistake, &HypothesisCheck::mistake);
  if (known == checks.end())
    checks.push_back(std::move(check));
  else if (check.ratio() < known->ratio())
    *known = std::move(check);
}

/// Returns the token of the worst row, as an index into the layer's tokens.
std::size_t worstToken(const LayerTensors& layer, const TensorCheck& worst) {
  return static_cast<std::size_t>(std::ranges::lower_bound(layer.tokens, worst.worst.token) -
                                  layer.tokens.begin());
}

/// Leaves as many rows of a selection, evenly spread, as the work allows, and the worst row.
/// `each`: work of all rows.
void keepRows(Selection& selection, std::size_t worst, double each, double work) {
  constexpr double kFewest = 16;
  const auto all = static_cast<double>(selection.rows.size());
  const double kept = std::min(all, std::max(kFewest, all * work / each));
  std::vector<std::size_t> rows;
  rows.reserve(selection.rows.size());
  for (double at = all / kept / 2; at < all; at += all / kept)
    rows.push_back(selection.rows[static_cast<std::size_t>(at)]);
  rows.insert(std::ranges::lower_bound(rows, worst), worst);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  selection.rows = std::move(rows);
}

/// Reports whether the recorded output is wrong, and is attention of the planned blocks without any
/// mistake. Ranks that gather keys may leave out padding.
bool isAsPlanned(const HypothesisSetting& setting, const MeantAttention& meant,
                 const std::vector<TensorCheck>& as_meant) {
  if (setting.plan.isAssumed() || !isForwardWrong(as_meant)) return false;
  const AttentionValues values = attendInBlocks(meant.inputs(), asPlanned(setting));
  const Limits limits = grown(meant.limits(), meant.values(), values);
  return worstRatio(ofForward(
             compareAll(setting.trace, setting.layer, setting.selection, values, limits))) <= 1;
}

}  // namespace

HypothesesCheck checkHypotheses(const Trace& trace, const LayerTensors& layer,
                                const std::vector<WorldRank>& members, const AttentionMask& mask,
                                const std::vector<TensorCheck>& wrong, double work) {
  HypothesesCheck result;
  const auto recorded = PlannedBlocks::of(trace, layer, members);
  const auto ring = recorded ? std::nullopt : PlannedBlocks::ofRing(trace, layer, members);
  if (!recorded && !ring) {
    result.skipped = "which blocks the ranks attended is not recorded";
    return result;
  }
  const PlannedBlocks& plan = recorded ? *recorded : *ring;
  if (plan.isAssumed())
    result.assumed =
        "Which blocks the ranks attended is not recorded, so mistakes are computed for blocks of "
        "one rank each, in the order of a ring";
  const bool undescribed = plan.isAssumed() || hasRecognisedAttention(trace);
  // How backward begins with a wrong out is unknown in a job that describes nothing.
  const bool forward_alone = undescribed && isForwardWrong(wrong);
  const bool backward = layer.complete(TensorKind::kDout) && !forward_alone;
  const auto judged = forward_alone ? ofForward(wrong) : wrong;
  const TensorCheck& worst = worstTensor(judged);
  result.selection = worstHead(layer, worst);
  const double each = kWorkOfBlocks * static_cast<double>(layer.groupSize()) *
                      attentionWork(layer.tokens, layer.tokens, mask, layer.head_dim, backward);
  if (forward_alone) {
    keepRows(result.selection, worstToken(layer, worst), each * kForms, work);
  } else if (each * static_cast<double>(hypotheses().size()) > work) {
    result.skipped = "computing them for one KV head takes more work than was allowed";
    return result;
  }
  // Mistakes change out, so each hypothesis begins backward with an out of its own.
  const MeantAttention meant(trace, layer, result.selection, mask, backward,
                             MeantAttention::Delta::kExact);
  const auto as_meant = compareAll(trace, layer, result.selection, meant.values(), meant.limits());
  result.meant_ratio = worstRatio(as_meant);
  const auto [sample, at] = worstSample(trace, layer, result.selection, meant.values(), as_meant);
  result.sample = sample;
  const HypothesisSetting setting{trace, layer, result.selection, mask, plan};
  if (undescribed && isAsPlanned(setting, meant, as_meant)) {
    result.skipped =
        "the recorded output is that of the keys that ranks attended, and nothing recorded states "
        "that others were meant";
    return result;
  }
  for (const Hypothesis& hypothesis : hypotheses()) {
    if (hypothesis.undescribed && !undescribed) continue;
    for (const BlockedAttention& how : hypothesis.make(setting)) {
      if (how.isForwardOnly() && !isForwardWrong(as_meant)) continue;
      const AttentionValues values = attendInBlocks(meant.inputs(), how);
      const Limits limits = limitsOf(meant, how);
      if (!differs(meant.values(), values, limits)) continue;
      keepBest(result.checks, {hypothesis.mistake, how.how,
                               compareAll(trace, layer, result.selection, values,
                                          grown(limits, meant.values(), values)),
                               valuesOf(values, sample.kind)[at], how.may_be_meant});
    }
  }
  std::ranges::stable_sort(result.checks, {}, &HypothesisCheck::ratio);
  return result;
}

}  // namespace ringscope::traces
