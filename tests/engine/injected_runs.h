// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/random_runs.h"
#include "traces/schema/run_rules.h"
#include "traces/verify/loss.h"

namespace ringscope::test {

/// The mistakes that are injected, each with the runs in which it can change anything.
struct Injected {
  std::string mistake;
  bool (*matters)(const traces::RunSpec& run);
};

inline bool always(const traces::RunSpec&) {
  return true;
}
inline bool isCut(const traces::RunSpec& run) {
  return run.cp > 1;
}
inline bool hasSeveralLosses(const traces::RunSpec& run) {
  return run.dp * run.cp > 1;
}
inline bool hasDocuments(const traces::RunSpec& run) {
  return run.mask == traces::MaskKind::kDocuments;
}
inline bool isBalanced(const traces::RunSpec& run) {
  return isCut(run) && traces::chosenBalance(run) != traces::Balance::kNone;
}

inline const std::vector<Injected> kMistakes = {
    {"missing_position_ids", always},
    {"naive_sum_merge", always},
    {"missing_cp_grad_reduce", always},
    // Of documents it changes which tokens have targets, and hardly any at the borders of shards.
    {"shift_labels_per_shard", [](const auto& run) { return isCut(run) && !hasDocuments(run); }},
    {"labels_shifted_twice", [](const auto& run) { return !hasDocuments(run); }},
    // With documents, ranks plan for other ones than their neighbours, and such a run hangs.
    {"different_batches_on_cp_ranks",
     [](const auto& run) { return isCut(run) && !hasDocuments(run); }},
    // Of one step alone it cannot be told from a text of one sequence.
    {"same_batch_on_dp_ranks", [](const auto& run) { return run.dp > 1 && run.steps > 1; }},
    {"rank_without_targets", always},
    // Without documents all ranks have the same number of targets, and the means are right.
    {"mean_of_local_means",
     [](const auto& run) { return hasSeveralLosses(run) && hasDocuments(run); }},
    {"loss_scaled_by_cp", isCut},
    {"metric_not_reduced", hasSeveralLosses},
    {"positions_not_reset_per_document", hasDocuments},
    {"balance_differs_between_buffers", isBalanced},
    {"unbalanced_unshard", isBalanced},
    {"missing_rope_buffer", [](const auto& run) { return isCut(run) || hasDocuments(run); }},
};

/// Most mistakes are of training alone.
inline RandomRun runFor(const Injected& injected, std::mt19937& random) {
  const bool of_attention =
      injected.mistake == "naive_sum_merge" || injected.mistake == "unbalanced_unshard";
  for (;;) {
    RandomRun run = of_attention && random() % 2 ? RandomRun::ofAttention(random)
                                                 : RandomRun::ofTraining(random);
    if (injected.matters(run.spec())) return run;
  }
}

/// Whether the logged losses are the same up to rounding.
inline bool sameLosses(const traces::Trace& a, const traces::Trace& b) {
  for (std::int32_t step = 0; step < a.run()->steps; ++step) {
    const auto of_a = traces::loggedNumber(a, step, "loss"),
               of_b = traces::loggedNumber(b, step, "loss");
    if (of_a.has_value() != of_b.has_value()) return false;
    if (!of_a) continue;
    if (std::isnan(*of_a) != std::isnan(*of_b)) return false;
    if (std::abs(*of_a - *of_b) > 3e-6 * std::abs(*of_a)) return false;
  }
  return true;
}

/// Why a mistake that changes a value nevertheless cannot be seen; empty where it can.
inline std::string hidden(const std::string& mistake, const traces::Trace& right) {
  constexpr std::int64_t kFewTargets = 16;
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
  const bool of_labels = mistake == "shift_labels_per_shard" || mistake == "labels_shifted_twice";
  if (of_labels && targets < kFewTargets) return "there are too few labels to tell";
  return "";
}

}  // namespace ringscope::test
