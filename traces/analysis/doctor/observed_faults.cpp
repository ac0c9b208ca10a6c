// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/observed_faults.h"

#include <algorithm>
#include <map>

#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/observed_parts.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kFewMerges = 3;

/// The mistake that an outcome of check_merge is, and what it says of a result.
struct KnownMerge {
  const char* found;
  const char* mistake;
  const char* title;
  const char* words;
};

constexpr KnownMerge kKnownMerges[] = {
    {"WRONG_BASE", "lse_base2", "Partial outputs are weighed by log-sum-exps of another base",
     "the partial outputs with weights to the base 2, of natural log-sum-exps, or the reverse"},
    {"PLAIN_SUM", "naive_sum_merge", "Partial outputs are added without weights",
     "the sum of the partial outputs, without weights"},
    {"MEAN", "naive_sum_merge", "Partial outputs are averaged without weights",
     "the plain mean of the partial outputs"},
    {"WRONG_RANK", kUnknownMistake, "No rule names it: a merge takes parts of another rank",
     "a merge in which a partial output or its log-sum-exp is that of another rank"},
};

Finding mergeFinding(const KnownMerge& known, const PartialMerge& first, std::int32_t train_step,
                     WorldRank rank, std::int64_t wrong, std::int64_t all) {
  Finding finding{
      .confidence = Confidence::kLikely,
      .title = known.title,
      .place = {train_step, first.layer, Direction::kForward, {}},
      .rank = rank,
      .buffer = "out",
      .evidence =
          "A function gathers partial outputs of attention and their log-sum-exps from all "
          "ranks. Its result is " +
          std::string(known.words) + (first.detail.empty() ? "" : " (" + first.detail + ")") +
          ", and not their merge: it is off by " + describeRatio(first.factor) +
          " what rounding explains. So it is with " + std::to_string(wrong) + " of " +
          describeCount(all, "merge") + " that rank " + toString(rank) + " computed.",
      .remedy =
          "Weigh each partial output by exp(lse − lse of all), with logarithms of one base: "
          "torch.logsumexp is natural, and some kernels return log2."};
  finding.rule = known.mistake;
  return finding;
}

}  // namespace

std::optional<Finding> wrongPartialMerge(const Trace& trace) {
  for (const std::int32_t train_step : stepsWithTensors(trace))
    for (int rank = 0; rank < trace.worldSize(); ++rank) {
      const auto merges = partialMerges(trace, train_step, WorldRank::of(rank));
      for (const KnownMerge& known : kKnownMerges) {
        const auto is_it = [&](const PartialMerge& merge) { return merge.found == known.found; };
        const auto first = std::ranges::find_if(merges, is_it);
        const std::int64_t wrong = std::ranges::count_if(merges, is_it);
        if (first != merges.end() && 2 * wrong >= std::ssize(merges))
          return mergeFinding(known, *first, train_step, WorldRank::of(rank), wrong,
                              std::ssize(merges));
      }
    }
  return std::nullopt;
}

namespace {

/// The merges of a training step among the same ranks.
struct GroupMerges {
  std::map<std::size_t, std::vector<WorldRank>> keepers;  ///< of the new token, by merge
  std::size_t most = 0;                                   ///< merges of one rank
  bool all_right = true;

  /// Reports whether several ranks keep the new token in each merge, and all merges are right.
  bool keepTwice() const {
    return all_right && std::ssize(keepers) >= kFewMerges && keepers.size() == most &&
           std::ranges::all_of(keepers, [](const auto& merge) { return merge.second.size() > 1; });
  }
};

/// Returns the merges of a training step by the ranks that take part.
std::map<std::vector<WorldRank>, GroupMerges> mergesByGroup(const Trace& trace,
                                                            std::int32_t train_step) {
  std::map<std::vector<WorldRank>, GroupMerges> groups;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    std::map<std::vector<WorldRank>, std::size_t> count;
    for (const PartialMerge& merge : partialMerges(trace, train_step, WorldRank::of(rank))) {
      if (merge.members.empty()) continue;
      GroupMerges& group = groups[merge.members];
      const std::size_t at = count[merge.members]++;
      group.most = std::max(group.most, at + 1);
      group.all_right = group.all_right && merge.found == "NONE";
      if (merge.appended.value_or(false)) group.keepers[at].push_back(WorldRank::of(rank));
    }
  }
  return groups;
}

Finding keptTwiceFinding(const GroupMerges& group, std::int32_t train_step) {
  const std::vector<WorldRank>& ranks = group.keepers.begin()->second;
  Finding finding{
      .confidence = Confidence::kLikely,
      .title = "No rule names it: several ranks keep the key and value of a new token",
      .place = {train_step, Layer::of(0), Direction::kForward, {}},
      .rank = ranks[1],
      .buffer = "k",
      .evidence = "In each of " + describeCount(std::ssize(group.keepers), "merge") +
                  " of partial outputs, the keys that ranks " + toString(ranks[0]) + " and " +
                  toString(ranks[1]) +
                  " attend end with the key of the new token. The merge is right, so the token "
                  "counts once for each of these ranks.",
      .remedy =
          "Append the key and value of a new token on one rank alone, and let the other ranks "
          "attend their earlier keys."};
  finding.rule = kUnknownMistake;
  return finding;
}

}  // namespace

std::optional<Finding> tokenKeptTwice(const Trace& trace) {
  for (const std::int32_t train_step : stepsWithTensors(trace))
    for (const auto& [members, group] : mergesByGroup(trace, train_step))
      if (group.keepTwice()) return keptTwiceFinding(group, train_step);
  return std::nullopt;
}

}  // namespace ringscope::traces
