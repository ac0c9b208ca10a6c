// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/engine/random_runs.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/plan/run_rules.h"

namespace ringscope::test {

/// An injected mistake, and the runs in which it can have an effect.
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
/// Reports whether several ranks attend each other's keys. With Ulysses alone each rank has all
/// keys.
inline bool hasRing(const traces::RunSpec& run) {
  return run.cp / traces::ulyssesSize(run) > 1;
}
inline bool sharesHeads(const traces::RunSpec& run) {
  return run.strategy == traces::Strategy::kUlysses || run.strategy == traces::Strategy::kHybrid;
}
inline bool passesBlocksOn(const traces::RunSpec& run) {
  return hasRing(run) && run.strategy != traces::Strategy::kAllGather;
}

/// Reports whether attention is recorded such that it can be recomputed closely.
inline bool isJudged(const traces::RunSpec& run) {
  return run.command == traces::Command::kTrain && run.dropout == 0 && !run.fp8;
}
inline bool hasJudgedSinks(const traces::RunSpec& run) {
  return isJudged(run) && run.sinks;
}

inline const std::vector<Injected> kMistakes = {
    {"missing_position_ids", always},
    {"naive_sum_merge", always},
    {"missing_cp_grad_reduce", always},
    {"grad_scaled_by_cp", isCut},
    // With one rank a smaller gradient looks like any other scale.
    {"clip_before_reduce", hasSeveralLosses},
    {"norm_counts_replicas", [](const auto& run) { return run.worldSize() > 1; }},
    {"embedding_detached", always},
    // The run is drawn with scores that are wide enough.
    {"lse_overflow",
     [](const auto& run) { return run.command == traces::Command::kAttend && isCut(run); }},
    // A rank with one KV head gives this head to all of its query heads.
    {"gqa_group_broken",
     [](const auto& run) {
       return run.command == traces::Command::kTrain && traces::ulyssesSize(run) > 1 &&
              run.model.kv_heads / run.tp > 1;
     }},
    // FP8 rounds too coarsely to determine the dropped weights.
    {"dropout_rng_reused",
     [](const auto& run) {
       return run.command == traces::Command::kTrain && run.dropout > 0 && !run.fp8;
     }},
    // In bfloat16 rounding to bfloat16 changes nothing, and FP8 rounds blocks more coarsely.
    // Results of dropout do not determine q, k and v.
    {"recompute_differs",
     [](const auto& run) {
       return run.recompute && run.dtype != traces::DType::kBFloat16 && !run.fp8 &&
              run.dropout == 0;
     }},
    // With documents the mistake changes which tokens have targets, hardly any of them at the
    // borders of shards.
    {"shift_labels_per_shard", [](const auto& run) { return isCut(run) && !hasDocuments(run); }},
    {"labels_shifted_twice", [](const auto& run) { return !hasDocuments(run); }},
    // With documents, ranks plan for other documents than their neighbours, and the run hangs.
    {"different_batches_on_cp_ranks",
     [](const auto& run) { return isCut(run) && !hasDocuments(run); }},
    // A single step cannot be distinguished from a text of one sequence.
    {"same_batch_on_dp_ranks", [](const auto& run) { return run.dp > 1 && run.steps > 1; }},
    {"rank_without_targets", always},
    {"nan_from_one_rank", always},
    // Without documents all ranks have the same number of targets, and the means are right.
    {"mean_of_local_means",
     [](const auto& run) { return hasSeveralLosses(run) && hasDocuments(run); }},
    {"loss_scaled_by_cp", isCut},
    {"metric_not_reduced", hasSeveralLosses},
    {"positions_not_reset_per_document", hasDocuments},
    {"balance_differs_between_buffers", isBalanced},
    {"unbalanced_unshard", isBalanced},
    {"missing_rope_buffer", [](const auto& run) { return isCut(run) || hasDocuments(run); }},
    // The scale of attend's scores is not recorded.
    {"lse_base2", [](const auto& run) { return run.command == traces::Command::kTrain; }},
    // The rules need the q and k that only training records. The results of dropout do not show
    // which sinks took part.
    {"sinks_dropped", hasJudgedSinks},
    {"sinks_on_every_block",
     [](const auto& run) { return hasJudgedSinks(run) && hasRing(run) && !sharesHeads(run); }},
    {"sinks_not_cut_by_heads",
     [](const auto& run) { return hasJudgedSinks(run) && sharesHeads(run); }},
    // With a balance nearly every row has keys of every rank.
    {"neutral_element_wrong",
     [](const auto& run) {
       return isJudged(run) && hasRing(run) && !sharesHeads(run) && !isBalanced(run) &&
              run.mask == traces::MaskKind::kCausal;
     }},
    // One rank merges no running result.
    {"lse_low_precision", isCut},
    // The dropped weights are not recorded, nor are q and k of attend. FP8 may round more than the
    // mistake changes.
    {"local_delta_in_backward",
     [](const auto& run) {
       return run.command == traces::Command::kTrain && run.dropout == 0 && !run.fp8 &&
              (hasRing(run) || run.sinks);
     }},
    {"ring_bypassed", hasRing},
    // A full mask has no later keys, and a block of later keys has no piece that could be cut.
    {"no_skip_future_block",
     [](const auto& run) { return hasRing(run) && run.mask != traces::MaskKind::kFull; }},
    {"causal_on_every_block", always},
    {"mask_dropped", [](const auto& run) { return run.window > 0; }},
    {"documents_ignored", hasDocuments},
    {"kv_not_rotated", passesBlocksOn},
    {"wrong_ring_direction", passesBlocksOn},
    {"stale_kv_in_backward", passesBlocksOn},
    // FP8's packets are bytes, which cannot be mistaken for heads and tokens.
    {"non_contiguous_kv", [](const auto& run) { return passesBlocksOn(run) && !run.fp8; }},
    {"balance_cuts_documents",
     [](const auto& run) {
       return isCut(run) && traces::chosenBalance(run) == traces::Balance::kPerDocument;
     }},
    // Ranks that hold the whole sequence have no parts to combine.
    {"cp_not_applied",
     [](const auto& run) {
       const bool sums_parts = run.command == traces::Command::kAttend && run.sinks;
       return isCut(run) && !run.verify && !sums_parts;
     }},
    {"wrong_buffer_dim",
     [](const auto& run) {
       return isCut(run) && run.batch / run.dp % run.cp == 0 && !sharesHeads(run) && !run.verify;
     }},
    // Only attend masks padding.
    {"padding_unmasked", [](const auto& run) { return run.command == traces::Command::kAttend; }},
    {"positions_read_as_documents",
     [](const auto& run) { return isBalanced(run) && hasRing(run); }},
    {"aliased_buffer", [](const auto& run) { return isBalanced(run) && run.batch / run.dp > 1; }},
    // With different documents, ranks of another dp place pass on different blocks.
    {"wrong_process_group",
     [](const auto& run) {
       return isCut(run) && run.dp == run.cp && !sharesHeads(run) && !hasDocuments(run);
     }},
    // A ring that ends with a rank's own block needs no hop home.
    {"dkv_not_returned",
     [](const auto& run) {
       return passesBlocksOn(run) && run.order == traces::Order::kDiagonalFirst;
     }},
};

/// Reports whether the mistake can be tried in any training. The other mistakes need a single
/// attention, or scores that are drawn for them.
inline bool concernsTraining(const Injected& injected) {
  return injected.mistake != "padding_unmasked" && injected.mistake != "unbalanced_unshard" &&
         injected.mistake != "lse_overflow" &&
         !traces::findMistake(injected.mistake)->seams.empty();
}

/// Reports whether the mistake can occur in a single attention. Many mistakes concern training
/// only.
inline bool concernsAttention(const Injected& injected) {
  const auto& seams = traces::findMistake(injected.mistake)->seams;
  return injected.mistake == "unbalanced_unshard" ||
         std::ranges::any_of(seams, [](const std::string& seam) {
           return seam.starts_with("attention.") || seam.starts_with("ring.") ||
                  seam == "buffers.padding" || seam == "buffers.layout";
         });
}

inline bool canShowIn(const Injected& injected, const RandomRun& run) {
  // Beside a single document there is only padding, and padding_unmasked is the name of that
  // mistake.
  if (injected.mistake == "documents_ignored" && run.attention &&
      run.attention->in.mask.documents.size() < 2)
    return false;
  return (!run.attention || concernsAttention(injected)) && injected.matters(run.spec()) &&
         run.findRefusal(injected.mistake).empty();
}

/// Makes the scores so wide that some exponentials overflow.
inline void widenScores(RandomRun& run) {
  constexpr double kWideScores = 40;
  run.attention->in.scale = kWideScores;
}

inline RandomRun runFor(const Injected& injected, std::mt19937& random) {
  const bool of_attention = concernsAttention(injected);
  for (;;) {
    RandomRun run = of_attention && random() % 2 ? RandomRun::ofAttention(random)
                                                 : RandomRun::ofTraining(random);
    if (!canShowIn(injected, run)) continue;
    if (injected.mistake == "lse_overflow") widenScores(run);
    return run;
  }
}

}  // namespace ringscope::test
