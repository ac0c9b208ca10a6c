// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

constexpr const char* kNotAllRanks = "not all ranks of the run are known";

/// Joins the slices [tokens, vocabulary / tp] of all tp ranks to [tokens, vocabulary].
std::vector<double> joinedLogits(const std::vector<RecordedValues>& slices, std::size_t tokens) {
  if (slices.size() == 1) return slices.front().values;
  std::vector<double> joined;
  for (std::size_t token = 0; token < tokens; ++token)
    for (const RecordedValues& slice : slices) {
      const std::size_t width = slice.values.size() / tokens;
      const auto row = slice.values.begin() + static_cast<std::ptrdiff_t>(token * width);
      joined.insert(joined.end(), row, row + static_cast<std::ptrdiff_t>(width));
    }
  return joined;
}

/// Returns the loss of the tokens of one rank, whose logits are spread over its tp group.
LossSum sumLosses(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  const RankLogits of_rank = rankLogits(trace, train_step, rank);
  return crossEntropySum(of_rank.logits, of_rank.labels, of_rank.vocabulary, of_rank.sums,
                         of_rank.smoothing);
}

/// Returns the only element of a recorded tensor.
std::optional<double> recordedNumber(const Trace& trace, const char* tensor,
                                     std::int32_t train_step, WorldRank rank) {
  const TensorRecord* record = trace.findTensor({TensorKind::kOther, tensor}, {train_step}, rank);
  if (!record || record->shape != std::vector<std::int64_t>{1}) return std::nullopt;
  const bool finite = record->stats.nan == 0 && record->stats.inf == 0;
  return finite ? record->stats.mean : std::numeric_limits<double>::quiet_NaN();
}

/// Reports whether the known owners of tokens are all owners of the run, as far as its mesh is
/// known.
bool areAllOf(const Trace& trace, std::size_t owners) {
  const RunSpec* run = trace.run();
  return !run || owners == static_cast<std::size_t>(run->dp) * run->cp;
}

}  // namespace

RankLogits rankLogits(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  RecordedValues labels =
      recordedValues(trace, {TensorKind::kBuffer, "labels"}, {train_step}, rank);
  std::vector<RecordedValues> slices;
  for (const WorldRank tp : tpRanks(trace, rank)) {
    slices.push_back(recordedValues(trace, {TensorKind::kLogits}, {train_step}, tp));
    if (labels.values.empty() || slices.back().values.size() % labels.values.size() != 0)
      throw MissingValue{"logits of rank " + toString(tp) + " do not fit the labels of rank " +
                         toString(rank)};
  }
  RankLogits found;
  found.sums = slices.front().record->dtype == DType::kFloat64 ? 2 * unitRoundoff(DType::kFloat64)
                                                               : unitRoundoff(DType::kFloat32);
  found.logits = joinedLogits(slices, labels.values.size());
  found.vocabulary = static_cast<std::int64_t>(found.logits.size() / labels.values.size());
  found.smoothing = stepLoss(trace, train_step).smoothing;
  found.label_shape = labels.record->shape;
  found.labels = std::move(labels.values);
  return found;
}

RankLosses rankLosses(const Trace& trace, std::int32_t train_step) {
  RankLosses losses;
  try {
    for (const WorldRank rank : tokenOwners(trace)) {
      const auto sum = recordedNumber(trace, kOwnLossSum, train_step, rank);
      const auto targets = recordedNumber(trace, kOwnTargets, train_step, rank);
      if (sum && targets && *targets >= 0 && *targets < 1e15)
        losses.ranks.push_back({rank,
                                {*sum, static_cast<std::int64_t>(*targets),
                                 4 * unitRoundoff(DType::kFloat32) * std::abs(*sum)}});
      else
        losses.ranks.push_back({rank, sumLosses(trace, train_step, rank)});
    }
  } catch (const MissingValue& missing) {
    return {{}, missing.why};
  }
  if (!trace.run() || !areAllOf(trace, losses.ranks.size())) return {{}, kNotAllRanks};
  return losses;
}

RankLosses recomputedLosses(const Trace& trace, std::int32_t train_step) {
  RankLosses losses;
  try {
    for (const WorldRank rank : tokenOwners(trace))
      losses.ranks.push_back({rank, sumLosses(trace, train_step, rank)});
  } catch (const MissingValue& missing) {
    return {{}, missing.why};
  }
  if (!areAllOf(trace, losses.ranks.size())) return {{}, kNotAllRanks};
  return losses;
}

Rounded meanOverTargets(const std::vector<RankLoss>& ranks) {
  LossSum all;
  for (const RankLoss& rank : ranks) {
    all.sum += rank.own.sum;
    all.targets += rank.own.targets;
    all.limit += rank.own.limit;
  }
  const auto targets = static_cast<double>(all.targets);
  const double mean = all.sum / targets;
  return {mean, all.limit / targets + 4 * unitRoundoff(DType::kFloat32) * std::abs(mean)};
}

TokenEntropy tokenEntropy(std::span<const double> logits, std::size_t label, double smoothing) {
  TokenEntropy found;
  double largest = logits[0], sum = 0;
  for (const double logit : logits) {
    largest = std::max(largest, logit);
    found.largest = std::max(found.largest, std::abs(logit));
  }
  for (const double logit : logits) sum += std::exp(logit - largest);
  found.lse = largest + std::log(sum);
  const double spread = smoothing > 0 ? std::accumulate(logits.begin(), logits.end(), 0.0) /
                                            static_cast<double>(logits.size())
                                      : 0;
  found.log_probability = logits[label] - found.lse;
  found.loss = found.lse - (1 - smoothing) * logits[label] - smoothing * spread;
  return found;
}

LossSum crossEntropySum(std::span<const double> logits, std::span<const double> labels,
                        std::int64_t vocabulary, double sums, double smoothing) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(0, vocabulary));
  if (width == 0 || logits.size() % width != 0 || logits.size() / width != labels.size())
    throw inputError("the logits do not fit the labels");
  LossSum loss;
  double sizes = 0;
  for (std::size_t token = 0; token < labels.size(); ++token) {
    if (labels[token] < 0) continue;
    if (!(labels[token] < static_cast<double>(width)))
      throw inputError("a label is outside the vocabulary of " + std::to_string(width));
    const TokenEntropy of_token = tokenEntropy(logits.subspan(token * width, width),
                                               static_cast<std::size_t>(labels[token]), smoothing);
    loss.sum += of_token.loss;
    ++loss.targets;
    // Roundings: lse, the argument of its logarithm, and two differences.
    loss.limit += sums * (kRoundingLambda * std::sqrt(static_cast<double>(width)) +
                          4 * of_token.largest + std::abs(of_token.lse));
    sizes += std::abs(of_token.loss);
  }
  loss.limit += kRoundingLambda * std::sqrt(static_cast<double>(loss.targets)) * sums * sizes;
  return loss;
}

ScalarCheck checkLoss(const Trace& trace, std::int32_t train_step) {
  const bool several = stepLoss(trace, train_step).several_calls;
  ScalarCheck check = checkLogged(trace, train_step, "loss", [&] {
    for (const WorldRank rank : tokenOwners(trace)) {
      const IntentRecord* intent = trace.intent(train_step, rank);
      if (!intent || intent->loss != LossReduction::kMeanOverTargets)
        throw MissingValue{
            "how the losses of several ranks were meant to become one is not recorded"};
    }
    const RankLosses losses =
        several ? rankLosses(trace, train_step) : recomputedLosses(trace, train_step);
    if (!losses.missing.empty()) throw MissingValue{losses.missing};
    if (std::ranges::all_of(losses.ranks,
                            [](const RankLoss& rank) { return rank.own.targets == 0; }))
      throw MissingValue{"no token has a target"};
    return meanOverTargets(losses.ranks);
  });
  if (isForeign(trace))
    check.open =
        "the number is no mean of the recorded labels' cross entropy; whether more was logged, "
        "such "
        "as an auxiliary loss, is not recorded";
  return check;
}

}  // namespace ringscope::traces
