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

#include "traces/doctor/label_reading.h"
#include "traces/doctor/unknown_mistake.h"
#include "traces/mistakes/catalogue.h"
#include "traces/query/sequence_groups.h"
#include "traces/query/trace.h"
#include "traces/schema/band.h"
#include "traces/verify/loss.h"

// What a mistake changes of a run, and why that may nevertheless not be seen.
namespace ringscope::test {

/// Whether the logged losses and gradient norms are the same up to rounding.
inline bool sameLogs(const traces::Trace& a, const traces::Trace& b) {
  for (std::int32_t step = 0; step < a.run()->steps; ++step)
    for (const char* field : {"loss", "grad_norm"}) {
      const auto of_a = traces::loggedNumber(a, step, field),
                 of_b = traces::loggedNumber(b, step, field);
      if (of_a.has_value() != of_b.has_value()) return false;
      if (!of_a) continue;
      if (std::isnan(*of_a) != std::isnan(*of_b)) return false;
      if (std::abs(*of_a - *of_b) > 3e-6 * std::abs(*of_a)) return false;
    }
  return true;
}

/// Of a tile mask, by the schedule's piece with the same rows; nothing where there is none.
inline std::optional<traces::Band> plannedBand(const traces::Trace& trace,
                                               const traces::Event& event) {
  const auto* schedule = trace.schedule(event.place.train_step, event.rank, event.place.direction);
  if (!schedule) return std::nullopt;
  for (const auto& stage : schedule->stages)
    for (const auto& piece : stage.pieces)
      if (stage.source_rank == event.source_rank && piece.mask == event.mask &&
          piece.q_begin == event.q_begin && piece.q_end == event.q_end &&
          piece.k_begin == event.k_begin && piece.k_end == event.k_end)
        return traces::Band::of(piece);
  return std::nullopt;
}

using Counted = std::map<std::vector<std::int64_t>, int>;

inline std::vector<std::int64_t> numbersOf(const traces::Place& place) {
  return {place.train_step, place.layer.value(), static_cast<std::int64_t>(place.direction),
          place.stage.value()};
}

/// How often each rank attends each (query row, key row) of each block, pass by pass; nothing where
/// a tile mask is none of the schedule's.
inline std::optional<Counted> attendedPairs(const traces::Trace& trace) {
  Counted pairs;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const traces::Event& event : trace.events(traces::WorldRank::of(rank))) {
      if (event.kind != traces::EventKind::kAttend) continue;
      auto band = traces::bandOf(event, nullptr);
      if (event.mask == traces::PieceMask::kTileMask) {
        const auto planned = plannedBand(trace, event);
        if (!planned) return std::nullopt;
        band = *planned;
      }
      auto pair = numbersOf(event.place);
      pair.back() = rank;  // whatever the ring step
      for (auto q = band.q_begin; q < band.q_end; ++q)
        for (auto k = band.k_begin; k < band.k_end; ++k) {
          if (k - q < band.low || k - q > band.high) continue;
          auto numbers = pair;
          numbers.insert(numbers.end(), {event.source_rank.value(), q, k});
          ++pairs[numbers];
        }
    }
  return pairs;
}

/// Whether a query attends keys of several blocks.
inline bool mergesBlocks(const traces::Trace& trace) {
  const auto pairs = attendedPairs(trace);
  if (!pairs) return true;
  std::map<std::vector<std::int64_t>, std::int64_t> source_of;
  for (const auto& [pair, times] : *pairs) {
    const std::vector<std::int64_t> query = {pair[0], pair[1], pair[2], pair[3], pair[5]};
    const auto [at, added] = source_of.try_emplace(query, pair[4]);
    if (!added && at->second != pair[4]) return true;
  }
  return false;
}

/// Elements of the smallest running_lse; 0 where there is none.
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

/// Whether all gradients of one recording are those of the other times one factor a training step,
/// as every other scale would make them. What is only rounding, where a gradient should be 0, has
/// no factor.
inline bool differByOneFactor(const traces::Trace& a, const traces::Trace& b) {
  constexpr double kRounding = 1e-6;
  std::map<std::int32_t, double> largest;
  const auto isGradient = [](const traces::TensorRecord& tensor) {
    return tensor.tensor.kind == traces::TensorKind::kGradient;
  };
  for (const auto& tensor : a.tensors())
    if (double& of_step = largest[tensor.place.train_step]; isGradient(tensor))
      of_step = std::max(of_step, tensor.stats.abs_max);
  std::map<std::int32_t, std::pair<double, double>> factors;  // smallest, largest
  for (const auto& tensor : a.tensors()) {
    if (!isGradient(tensor) || tensor.stats.abs_max <= kRounding * largest[tensor.place.train_step])
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

/// Whether a rule finds something wherever the mistake made something wrong, by whatever name.
inline bool isEffect(const std::string& mistake, const std::string& rule) {
  return rule == traces::kUnknownMistake ||
         (mistake == "lse_overflow" && rule == "nan_from_one_rank") ||
         (mistake == "documents_ignored" && rule == "padding_unmasked") ||
         (mistake == "metric_not_reduced" && rule == "rank_without_targets");
}

/// Whether a running lse is NaN or +inf.
inline bool mergesToInfinity(const traces::Trace& trace) {
  for (const auto& tensor : trace.tensors()) {
    if (tensor.tensor.kind != traces::TensorKind::kRunningLse) continue;
    if (tensor.stats.nan > 0) return true;
    for (const double lse : trace.values(tensor).value_or(std::vector<double>()))
      if (std::isinf(lse) && lse > 0) return true;
  }
  return false;
}

/// Rows of up to 8 keys, so many that chance does not drop the same of each.
inline bool hasRowsOfFewKeys(const traces::RunSpec& run) {
  constexpr std::int64_t kKeys = 8;
  return run.seq_len >= kKeys && run.mask != traces::MaskKind::kFull;
}

/// Whether ranks did the same, whatever came of it: what they attended, and how many messages of
/// which block they sent.
inline bool sameDeeds(const traces::Trace& a, const traces::Trace& b) {
  const auto deeds = [](const traces::Trace& trace) {
    Counted all;
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      for (const traces::Event& event : trace.events(traces::WorldRank::of(rank))) {
        if (event.kind != traces::EventKind::kAttend && event.kind != traces::EventKind::kSend)
          continue;
        auto deed = numbersOf(event.place);
        deed.insert(deed.end(),
                    {rank, static_cast<std::int64_t>(event.kind),
                     static_cast<std::int64_t>(event.mask), event.q_begin, event.q_end,
                     event.k_begin, event.k_end, event.source_rank.value(), event.peer.value()});
        ++all[deed];
      }
    return all;
  };
  return deeds(a) == deeds(b);
}

inline bool keepsTokens(const traces::Trace& trace) {
  return std::ranges::any_of(trace.tensors(), [](const traces::TensorRecord& tensor) {
    return tensor.tensor == traces::TensorName{traces::TensorKind::kBuffer, "input_ids"};
  });
}

/// Whether a rank attends, of each of its blocks, the pairs that were meant for the same rank of
/// another sequence, so that without token ids it may as well have read another batch.
inline bool attendsForAnother(const traces::Trace& right, const traces::Trace& wrong) {
  const auto meant = attendedPairs(right), attended = attendedPairs(wrong);
  if (!meant || !attended || *meant == *attended) return false;
  const auto ofGroup = [](const Counted& pairs, const std::vector<traces::WorldRank>& members) {
    Counted own;
    for (const auto& [numbers, times] : pairs) {
      auto pair = numbers;
      const auto seatOf = [&](std::int64_t rank) {
        return std::ranges::find(members, rank, &traces::WorldRank::value) - members.begin();
      };
      if (seatOf(pair[3]) == std::ssize(members)) continue;
      pair[3] = seatOf(pair[3]);
      pair[4] = seatOf(pair[4]);
      own[pair] = times;
    }
    return own;
  };
  const auto groups = traces::sequenceGroups(right);
  return std::ranges::any_of(groups, [&](const auto& one) {
    const Counted does = ofGroup(*attended, one);
    return does != ofGroup(*meant, one) && std::ranges::any_of(groups, [&](const auto& other) {
             return does == ofGroup(*meant, other);
           });
  });
}

/// Why a mistake that changes a value nevertheless cannot be seen; empty where it can.
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
  if (mistake == "lse_low_precision" && fewestRunningRows(wrong) < kFewRows)
    return "a rank has too few rows to tell a rounded number from a short one";
  if (mistake == "documents_ignored" && wrong.run()->window == 1)
    return "with a window of one token only padding sees more, and padding_unmasked is its name";
  if (mistake == "lse_overflow" && !mergesToInfinity(wrong))
    return "no exponential overflows, and every row has keys from the first block on";
  if (mistake == "dropout_rng_reused" && !hasRowsOfFewKeys(*wrong.run()))
    return "too few rows have so few keys that one can tell which were dropped";
  if (mistake == "clip_before_reduce" && differByOneFactor(right, wrong))
    return "all ranks clip by the same coefficient, or none does";
  const traces::RankLosses losses = traces::rankLosses(right, 0);
  if (losses.ranks.empty()) return "";
  std::int64_t targets = 0;
  bool equal = true;
  for (const traces::RankLoss& rank : losses.ranks) {
    targets += rank.own.targets;
    equal = equal && rank.own.targets == losses.ranks.front().own.targets;
  }
  if (mistake == "mean_of_local_means" && equal) return "the mean of equal means is right";
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
