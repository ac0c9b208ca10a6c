// SPDX-License-Identifier: Apache-2.0
// maximum_not_reduced: ranks with equal gradients multiply rows of a weight by factors of their
// own, as QK-clip does when each rank takes the maximum over its own tokens.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/replica_drift.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The factors by which rows of a rank's weight differ from those of another rank.
struct RowFactors {
  std::int64_t rows = 0;  ///< that differ
  double least = 1, most = 1;
};

/// Returns the factor minus 1 of a row that differs by a multiple of `before`; nullopt when it
/// differs in another way. 0: it does not differ.
std::optional<double> factorOf(std::span<const double> own, std::span<const double> other,
                               std::span<const double> before) {
  constexpr double kLeftOver = 1e-3;
  double product = 0, square = 0, difference = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double off = own[i] - other[i];
    product += off * before[i];
    square += before[i] * before[i];
    difference += off * off;
  }
  if (difference == 0) return 0;
  if (!(square > 0)) return std::nullopt;
  const double factor = product / square;
  const double rest = difference - factor * product;
  return rest <= kLeftOver * difference ? std::optional(factor) : std::nullopt;
}

/// Returns the factors of all rows, if each row that differs does so by a factor.
std::optional<RowFactors> rowFactors(const std::vector<double>& own,
                                     const std::vector<double>& other,
                                     const std::vector<double>& before, std::size_t width) {
  RowFactors factors{0, std::numeric_limits<double>::infinity(), 0};
  for (std::size_t at = 0; at + width <= own.size(); at += width) {
    const auto row = [&](const std::vector<double>& all) {
      return std::span(all).subspan(at, width);
    };
    const auto factor = factorOf(row(own), row(other), row(before));
    if (!factor) return std::nullopt;
    if (*factor == 0) continue;
    ++factors.rows;
    factors.least = std::min(factors.least, 1 + *factor);
    factors.most = std::max(factors.most, 1 + *factor);
  }
  return factors.rows > 0 ? std::optional(factors) : std::nullopt;
}

const TensorRecord* weightOf(const Trace& trace, const TensorRecord& like, std::int32_t train_step,
                             WorldRank rank) {
  Place place = like.place;
  place.train_step = train_step;
  return trace.findTensor(like.tensor, place, rank);
}

/// A weight of a rank that differs from that of the first rank of its group.
struct DriftedWeight {
  const TensorRecord *own = nullptr, *other = nullptr;
  std::optional<RowFactors> factors;
  bool has_values = false;
};

/// Compares a weight with the other rank's, before and after the update: the factor may have come
/// after the update of the step before, or in this one.
DriftedWeight compare(const Trace& trace, const TensorRecord& own, const TensorRecord& other) {
  DriftedWeight drifted{&own, &other, {}, false};
  const auto values = trace.values(own), others = trace.values(other);
  if (!values || !others || own.shape.size() != 2 || own.shape[1] < 4 ||
      values->size() != others->size())
    return drifted;
  drifted.has_values = true;
  const auto width = static_cast<std::size_t>(own.shape[1]);
  drifted.factors = rowFactors(*values, *others, *others, width);
  const TensorRecord* before = weightOf(trace, own, own.place.train_step - 1, own.rank);
  const auto earlier = before ? trace.values(*before) : std::nullopt;
  if (!drifted.factors && earlier && earlier->size() == values->size())
    drifted.factors = rowFactors(*values, *others, *earlier, width);
  return drifted;
}

/// The weights of the first training step in which replicas differ.
struct StepDrift {
  std::vector<DriftedWeight> matrices;
  std::int64_t equal = 0;  ///< matrices that do not differ
};

StepDrift driftAt(const Trace& trace, const TensorRecord& first, WorldRank like) {
  StepDrift drift;
  for (const TensorRecord& own : trace.tensors()) {
    if (own.tensor.kind != TensorKind::kWeight || own.rank != first.rank ||
        own.place.train_step != first.place.train_step || own.shape.size() < 2)
      continue;
    const TensorRecord* other = weightOf(trace, own, own.place.train_step, like);
    if (!other) continue;
    if (other->hash == own.hash)
      ++drift.equal;
    else
      drift.matrices.push_back(compare(trace, own, *other));
  }
  return drift;
}

Finding maximumFinding(const DriftedWeight& weight, const StepDrift& drift) {
  const auto& [rows, least, most] = *weight.factors;
  return {.confidence = Confidence::kLikely,
          .title = "Ranks scale weights by factors of their own",
          .place = weight.own->place,
          .rank = weight.own->rank,
          .buffer = weight.own->tensor.text(),
          .evidence = "The gradients of all ranks are equal, and " +
                      describeCount(std::ssize(drift.matrices), "weight") + " of " +
                      describeCount(std::ssize(drift.matrices) + drift.equal) + " differ: " +
                      describeCount(rows, "row") + " of " + weight.own->tensor.name + " on rank " +
                      toString(weight.own->rank) + " have another factor than on rank " +
                      toString(weight.other->rank) + ", by " + describeSignificant(least, 4) +
                      (most > least * (1 + 1e-6) ? " to " + describeSignificant(most, 4) : "") +
                      ", and are equal otherwise.",
          .remedy =
              "Reduce the maximum from which the factor comes over the ranks of the sequence "
              "(and of dp): dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=cp_group)."};
}

std::size_t countSteps(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kWeight) steps.insert(tensor.place.train_step);
  return steps.size();
}

}  // namespace

RuleResult checkMaximumNotReduced(const Trace& trace) {
  if (const auto answer = answerWithoutJob(trace)) return *answer;
  const ReplicaDrift gradients = readDrift(trace, TensorKind::kGradient);
  const ReplicaDrift weights = readDrift(trace, TensorKind::kWeight);
  if (gradients.parameters == 0 || weights.parameters == 0)
    return notObservable(
        "needs the hashes of gradients and weights of ranks that share a sequence");
  if (gradients.differing > 0)
    return undecided("needs gradients that are equal on the ranks of a sequence");
  if (weights.differing == 0 && countSteps(trace) < 2)
    return notObservable(
        "needs weights after two training steps: what follows an update shows after the "
        "next one");
  if (weights.differing == 0) return clear();
  const StepDrift drift = driftAt(trace, *weights.first, weights.like);
  const auto scaled = std::ranges::find_if(
      drift.matrices, [](const DriftedWeight& weight) { return weight.factors.has_value(); });
  if (scaled != drift.matrices.end() && drift.equal > 0)
    return found(maximumFinding(*scaled, drift));
  if (std::ranges::none_of(drift.matrices, &DriftedWeight::has_values))
    return notObservable("needs the values of weights after two training steps");
  return undecided("needs weights that differ between ranks by a factor of a row");
}

}  // namespace ringscope::traces
