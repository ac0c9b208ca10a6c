// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/recorded_deeds.h"
#include "traces/analysis/doctor/label_reading.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/format/trace/trace.h"

// The effects of a mistake on a run, and reasons why a recording may hide them.
namespace ringscope::test {

/// Reports whether the logged losses, gradient norms and clip coefficients are equal up to
/// rounding.
inline bool sameLogs(const traces::Trace& a, const traces::Trace& b) {
  for (std::int32_t step = 0; step < a.run()->steps; ++step)
    for (const char* field : {"loss", "grad_norm", "clip_coefficient"}) {
      const auto of_a = traces::loggedNumber(a, step, field),
                 of_b = traces::loggedNumber(b, step, field);
      if (of_a.has_value() != of_b.has_value()) return false;
      if (!of_a) continue;
      if (std::isnan(*of_a) != std::isnan(*of_b)) return false;
      if (std::abs(*of_a - *of_b) > 3e-6 * std::abs(*of_a)) return false;
    }
  return true;
}

/// Returns the number of elements of the smallest running_lse; 0 when there is none.
inline std::int64_t fewestRunningRows(const traces::Trace& trace) {
  std::int64_t fewest = 0;
  for (const auto& tensor : trace.tensors()) {
    if (tensor.tensor.kind != traces::TensorKind::kRunningLse) continue;
    const auto rows = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                      std::multiplies<>());
    fewest = fewest == 0 ? rows : std::min(fewest, rows);
  }
  return fewest;
}

/// Reports whether all gradients of one recording are those of the other times one factor per
/// training step, as any other scale would make them. Gradients that should be 0 and are only
/// rounding noise have no factor.
inline bool differByOneFactor(const traces::Trace& a, const traces::Trace& b) {
  constexpr double kRounding = 1e-6;
  std::map<std::int32_t, double> largest;
  const auto is_gradient = [](const traces::TensorRecord& tensor) {
    return tensor.tensor.kind == traces::TensorKind::kGradient;
  };
  for (const auto& tensor : a.tensors())
    if (double& of_step = largest[tensor.place.train_step]; is_gradient(tensor))
      of_step = std::max(of_step, tensor.stats.abs_max);
  std::map<std::int32_t, std::pair<double, double>> factors;  // smallest and largest factor
  for (const auto& tensor : a.tensors()) {
    if (!is_gradient(tensor) ||
        tensor.stats.abs_max <= kRounding * largest[tensor.place.train_step])
      continue;
    const auto* other = b.findTensor(static_cast<const traces::TensorKey&>(tensor));
    if (!other) continue;
    const double factor = other->stats.abs_max / tensor.stats.abs_max;
    const auto [at, added] = factors.try_emplace(tensor.place.train_step, factor, factor);
    at->second = {std::min(at->second.first, factor), std::max(at->second.second, factor)};
  }
  return std::ranges::all_of(
      factors, [](const auto& step) { return step.second.second < 1.05 * step.second.first; });
}

/// Reports whether the norm of the gradients after the sync exceeds the clipping limit in any step.
inline bool exceedsTheLimit(const traces::Trace& trace) {
  constexpr double kRounding = 2e-3;
  for (std::int32_t step = 0; step < trace.run()->steps; ++step) {
    const auto norm = traces::loggedNumber(trace, step, "grad_norm");
    if (norm && *norm > trace.run()->max_norm * (1 + kRounding)) return true;
  }
  return false;
}

/// Reports whether a rule fires whenever the mistake has an effect, under whatever name.
inline bool isEffect(const std::string& mistake, const std::string& rule) {
  return rule == traces::kUnknownMistake ||
         (mistake == "lse_overflow" && rule == "nan_from_one_rank") ||
         (mistake == "documents_ignored" && rule == "padding_unmasked") ||
         (mistake == "metric_not_reduced" && rule == "rank_without_targets");
}

/// Reports whether an out has a NaN, or a running lse a NaN or +inf.
inline bool mergesToInfinity(const traces::Trace& trace) {
  for (const auto& tensor : trace.tensors()) {
    if (tensor.tensor.kind == traces::TensorKind::kOut && tensor.stats.nan > 0) return true;
    if (tensor.tensor.kind != traces::TensorKind::kRunningLse) continue;
    if (tensor.stats.nan > 0) return true;
    for (const double lse : trace.values(tensor).value_or(std::vector<double>()))
      if (std::isinf(lse) && lse > 0) return true;
  }
  return false;
}

/// Reports whether there are enough rows of up to 8 keys, so that chance does not drop the same
/// keys of each row.
inline bool hasRowsOfFewKeys(const traces::RunSpec& run) {
  constexpr std::int64_t kKeys = 8;
  return run.seq_len >= kKeys && run.mask != traces::MaskKind::kFull;
}

inline bool keepsTokens(const traces::Trace& trace) {
  return std::ranges::any_of(trace.tensors(), [](const traces::TensorRecord& tensor) {
    return tensor.tensor == traces::TensorName{traces::TensorKind::kBuffer, "input_ids"};
  });
}

/// Reports whether each rank has the same tokens in every training step.
inline bool repeatsItsBatch(const traces::Trace& trace) {
  std::map<traces::WorldRank, std::uint64_t> hashes;
  return std::ranges::all_of(trace.tensors(), [&](const traces::TensorRecord& tensor) {
    if (tensor.tensor != traces::TensorName{traces::TensorKind::kBuffer, "input_ids"}) return true;
    return hashes.try_emplace(tensor.rank, tensor.hash).first->second == tensor.hash;
  });
}

/// Reports whether both recordings kept the same values of cos and sin.
inline bool sameRotations(const traces::Trace& right, const traces::Trace& wrong) {
  return std::ranges::all_of(wrong.tensors(), [&](const traces::TensorRecord& tensor) {
    const auto kind = tensor.tensor.kind;
    if (!tensor.has_values ||
        (kind != traces::TensorKind::kCos && kind != traces::TensorKind::kSin))
      return true;
    const auto* meant = right.findTensor(static_cast<const traces::TensorKey&>(tensor));
    return meant && meant->hash == tensor.hash;
  });
}

/// Reports whether no dq of the first step differs by more than the rounding of 16-bit types.
inline bool roundsAwayInDq(const traces::Trace& right, const traces::Trace& wrong) {
  constexpr double kRounding = 0.02;
  for (const traces::TensorRecord& tensor : wrong.tensors()) {
    if (tensor.tensor.kind != traces::TensorKind::kDq || tensor.place.train_step > 0) continue;
    const auto* meant = right.findTensor(static_cast<const traces::TensorKey&>(tensor));
    const auto is = wrong.values(tensor), should = meant ? right.values(*meant) : std::nullopt;
    if (!is || !should || tensor.dtype == traces::DType::kFloat32 ||
        tensor.dtype == traces::DType::kFloat64)
      return false;
    double off = 0, size = 0;
    for (std::size_t i = 0; i < is->size(); ++i) {
      off += ((*is)[i] - (*should)[i]) * ((*is)[i] - (*should)[i]);
      size += (*should)[i] * (*should)[i];
    }
    if (off > kRounding * kRounding * size) return false;
  }
  return true;
}

/// Reports whether the mean of the ranks' means equals the mean over all targets in each step, up
/// to rounding.
inline bool meansAgree(const traces::Trace& trace) {
  for (std::int32_t step = 0; step < trace.run()->steps; ++step) {
    double sum = 0, means = 0, targets = 0, ranks = 0;
    for (const traces::RankLoss& rank : traces::rankLosses(trace, step).ranks) {
      if (rank.own.targets == 0) continue;
      const auto own = static_cast<double>(rank.own.targets);
      sum += rank.own.sum;
      means += rank.own.sum / own;
      targets += own;
      ++ranks;
    }
    if (ranks > 0 && std::abs(means / ranks - sum / targets) > 3e-6 * std::abs(sum / targets))
      return false;
  }
  return true;
}

/// Returns why a mistake that changes a value cannot be seen nevertheless; empty when it can be
/// seen.
inline std::string hidden(const std::string& mistake, const traces::Trace& right,
                          const traces::Trace& wrong) {
  const auto& seams = traces::findMistake(mistake)->seams;
  if (seams.front() == "attention.schedule" && mistake != "wrong_ring_direction") {
    const auto planned = attendedPairs(right);
    if (planned && planned == attendedPairs(wrong)) return "the same pairs in other pieces";
    if (!keepsTokens(wrong) && attendsForAnother(right, wrong))
      return "the pairs of another dp rank's batch, and no token ids tell whose was read";
  }
  constexpr std::int64_t kFewTargets = 16, kFewRows = 6;
  if (mistake == "local_delta_in_backward" && !right.run()->sinks && !mergesBlocks(right))
    return "no query attends keys of two blocks";
  if (mistake == "local_delta_in_backward" && roundsAwayInDq(right, wrong))
    return "what sinks take of each row is less than rounding";
  if (mistake == "lse_low_precision" && fewestRunningRows(wrong) < kFewRows)
    return "a rank has too few rows to tell a rounded number from a short one";
  if (mistake == "missing_rope_buffer" && sameRotations(right, wrong))
    return "the step whose values were kept has one document, or rows that are right by chance";
  if (mistake == "same_batch_on_dp_ranks" && repeatsItsBatch(wrong))
    return "all steps have one batch, which may be all that there is to learn";
  if (mistake == "documents_ignored" && wrong.run()->window == 1)
    return "with a window of one token only padding sees more, and padding_unmasked is its name";
  if (mistake == "lse_overflow" && !mergesToInfinity(wrong))
    return "no exponential overflows, and every row has keys from the first block on";
  if (mistake == "dropout_rng_reused" && !hasRowsOfFewKeys(*wrong.run()))
    return "too few rows have so few keys that one can tell which were dropped";
  if (mistake == "clip_before_reduce" && differByOneFactor(right, wrong) && !exceedsTheLimit(wrong))
    return "all ranks clip by the same coefficient, to less than the limit";
  const traces::RankLosses losses = traces::rankLosses(right, 0);
  if (losses.ranks.empty()) return "";
  std::int64_t targets = 0;
  bool equal = true;
  for (const traces::RankLoss& rank : losses.ranks) {
    targets += rank.own.targets;
    equal = equal && rank.own.targets == losses.ranks.front().own.targets;
  }
  if (mistake == "mean_of_local_means" && (equal || meansAgree(wrong)))
    return "the mean of the means is right, by equal targets or by chance";
  if (mistake == "metric_not_reduced" && losses.ranks.front().own.targets == 0)
    return "the rank that logs has no target, and rank_without_targets is its name";
  if (mistake == "shift_labels_per_shard" &&
      traces::readLabels(wrong).are == traces::LabelsAre::kPerhapsPerShard)
    return "so few ends of shards may lack their targets by right";
  const bool of_labels = mistake == "shift_labels_per_shard" || mistake == "labels_shifted_twice";
  if (of_labels && targets < kFewTargets) return "there are too few labels to tell";
  return "";
}

}  // namespace ringscope::test
