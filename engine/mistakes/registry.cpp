// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/registry.h"

#include <algorithm>
#include <random>

#include "engine/mistakes/limited_seams.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

void injectAliasedBuffer(Seams& seams);
void injectAttentionScaleDropped(Seams& seams);
void injectBalanceCutsDocuments(Seams& seams);
void injectBalanceDiffersBetweenBuffers(Seams& seams);
void injectBalanceWithoutCausal(Seams& seams);
void injectCausalOnEveryBlock(Seams& seams);
void injectClipBeforeReduce(Seams& seams);
void injectCpNotApplied(Seams& seams);
void injectDifferentBatchesOnCpRanks(Seams& seams);
void injectDkvNotReturned(Seams& seams);
void injectDocumentsIgnored(Seams& seams);
void injectDropoutRngReused(Seams& seams);
void injectDroppedHop(Seams& seams);
void injectEmbeddingDetached(Seams& seams);
void injectGqaGroupBroken(Seams& seams);
void injectGradScaledByCp(Seams& seams);
void injectHeadsNotDivisible(Seams& seams);
void injectKvNotRotated(Seams& seams);
void injectLabelsShiftedTwice(Seams& seams);
void injectLocalDeltaInBackward(Seams& seams);
void injectLossScaledByCp(Seams& seams);
void injectLseBase2(Seams& seams);
void injectLseLowPrecision(Seams& seams);
void injectLseOverflow(Seams& seams);
void injectMaskDropped(Seams& seams);
void injectMeanOfLocalMeans(Seams& seams);
void injectMetricNotReduced(Seams& seams);
void injectMissingCpGradReduce(Seams& seams);
void injectMissingPositionIds(Seams& seams);
void injectMissingRopeBuffer(Seams& seams);
void injectNaiveSumMerge(Seams& seams);
void injectNanFromOneRank(Seams& seams);
void injectNeutralElementWrong(Seams& seams);
void injectNoSkipFutureBlock(Seams& seams);
void injectNonContiguousKv(Seams& seams);
void injectNormCountsReplicas(Seams& seams);
void injectPaddingUnmasked(Seams& seams);
void injectPositionsNotResetPerDocument(Seams& seams);
void injectPositionsReadAsDocuments(Seams& seams);
void injectRankWithoutTargets(Seams& seams);
void injectRecomputeDiffers(Seams& seams);
void injectRingBypassed(Seams& seams);
void injectSameBatchOnDpRanks(Seams& seams);
void injectShiftLabelsPerShard(Seams& seams);
void injectSinksDropped(Seams& seams);
void injectSinksNotCutByHeads(Seams& seams);
void injectSinksOnEveryBlock(Seams& seams);
void injectSoftcapDropped(Seams& seams);
void injectStaleKvInBackward(Seams& seams);
void injectUnbalancedUnshard(Seams& seams);
void injectUnevenShards(Seams& seams);
void injectWrongBufferDim(Seams& seams);
void injectWrongProcessGroup(Seams& seams);
void injectWrongRingDirection(Seams& seams);

namespace {

const std::vector<std::string> kAnywhere = {"rank", "layer", "step"}, kLayers = {"layer", "step"},
                               kRanks = {"rank", "step"}, kSteps = {"step"};

InjectableMistake inAnyBuffer(const char* id, void (*inject)(Seams&)) {
  return {id, inject, false, kSteps, {}, "position_ids"};
}

}  // namespace

const std::vector<InjectableMistake>& injectableMistakes() {
  static const std::vector<InjectableMistake> kMistakes = {
      {"aliased_buffer", injectAliasedBuffer, false, kSteps},
      {"balance_cuts_documents", injectBalanceCutsDocuments, true},
      inAnyBuffer("balance_differs_between_buffers", injectBalanceDiffersBetweenBuffers),
      {"balance_without_causal", injectBalanceWithoutCausal},
      {"causal_on_every_block", injectCausalOnEveryBlock, false, kAnywhere},
      {"clip_before_reduce", injectClipBeforeReduce, false, kSteps},
      {"cp_not_applied", injectCpNotApplied},
      {"different_batches_on_cp_ranks", injectDifferentBatchesOnCpRanks, false, kSteps},
      {"dkv_not_returned", injectDkvNotReturned, false, kLayers},
      {"documents_ignored", injectDocumentsIgnored, false, kLayers},
      {"dropout_rng_reused", injectDropoutRngReused, false, kLayers},
      {"dropped_hop", injectDroppedHop, false, kAnywhere, kAnywhere},
      {"embedding_detached", injectEmbeddingDetached, false, kSteps},
      {"gqa_group_broken", injectGqaGroupBroken, false, kLayers},
      {"grad_scaled_by_cp", injectGradScaledByCp, false, kSteps},
      {"heads_not_divisible", injectHeadsNotDivisible},
      {"kv_not_rotated", injectKvNotRotated, false, kLayers},
      {"labels_shifted_twice", injectLabelsShiftedTwice, false, kSteps},
      {"local_delta_in_backward", injectLocalDeltaInBackward, false, kLayers},
      {"loss_scaled_by_cp", injectLossScaledByCp, false, kSteps},
      {"lse_base2", injectLseBase2, false, kAnywhere},
      {"lse_low_precision", injectLseLowPrecision, false, kAnywhere},
      {"lse_overflow", injectLseOverflow, false, kAnywhere},
      {"mask_dropped", injectMaskDropped, false, kAnywhere},
      {"mean_of_local_means", injectMeanOfLocalMeans, false, kSteps},
      {"metric_not_reduced", injectMetricNotReduced, false, kSteps},
      {"missing_cp_grad_reduce", injectMissingCpGradReduce, false, kSteps},
      {"missing_position_ids", injectMissingPositionIds, false, kRanks},
      {"missing_rope_buffer", injectMissingRopeBuffer, false, kRanks},
      {"naive_sum_merge", injectNaiveSumMerge, false, kAnywhere},
      {"nan_from_one_rank", injectNanFromOneRank, false, kAnywhere, kAnywhere},
      {"neutral_element_wrong", injectNeutralElementWrong, false, kLayers},
      {"no_skip_future_block", injectNoSkipFutureBlock, false, kAnywhere},
      {"non_contiguous_kv", injectNonContiguousKv, false, kLayers},
      {"norm_counts_replicas", injectNormCountsReplicas, false, kSteps},
      {"padding_unmasked", injectPaddingUnmasked},
      {"positions_not_reset_per_document", injectPositionsNotResetPerDocument, false, kSteps},
      {"positions_read_as_documents", injectPositionsReadAsDocuments, false, kAnywhere},
      {"rank_without_targets", injectRankWithoutTargets, false, kRanks, {"rank"}},
      {"recompute_differs", injectRecomputeDiffers, false, kAnywhere},
      {"ring_bypassed", injectRingBypassed, false, kLayers},
      {"same_batch_on_dp_ranks", injectSameBatchOnDpRanks},
      {"shift_labels_per_shard", injectShiftLabelsPerShard, false, kSteps},
      {"sinks_dropped", injectSinksDropped, false, kLayers},
      {"sinks_not_cut_by_heads", injectSinksNotCutByHeads, false, kSteps},
      {"sinks_on_every_block", injectSinksOnEveryBlock, false, kLayers},
      {"attention_scale_dropped", injectAttentionScaleDropped, false, kLayers},
      {"softcap_dropped", injectSoftcapDropped, false, kLayers},
      {"stale_kv_in_backward", injectStaleKvInBackward, false, kAnywhere},
      {"unbalanced_unshard", injectUnbalancedUnshard},
      {"uneven_shards", injectUnevenShards, true},
      {"wrong_buffer_dim", injectWrongBufferDim},
      {"wrong_process_group", injectWrongProcessGroup},
      {"wrong_ring_direction", injectWrongRingDirection, false, kLayers},
  };
  return kMistakes;
}

namespace {

using traces::AskedMistake;

bool canBeLimitedTo(const InjectableMistake& mistake, const char* place) {
  return std::ranges::find(mistake.places, place) != mistake.places.end();
}

void checkPlaces(const AskedMistake& asked, const InjectableMistake& mistake) {
  std::string able;
  for (const std::string& place : mistake.places) able += (able.empty() ? "" : ", ") + place;
  if (!mistake.buffer.empty()) able += (able.empty() ? "" : ", ") + std::string("buffer");
  const auto refuse = [&](const char* place) {
    throw usageError(asked.id + " cannot be limited to a " + place +
                     (able.empty() ? "; it is of the whole run" : "; it can to: " + able));
  };
  if (asked.rank && !canBeLimitedTo(mistake, "rank")) refuse("rank");
  if (asked.layer && !canBeLimitedTo(mistake, "layer")) refuse("layer");
  if (asked.step && !canBeLimitedTo(mistake, "step")) refuse("step");
  if (!asked.buffer.empty() && mistake.buffer.empty()) refuse("buffer");
}

/// The number of places to choose from; 0 when it is known later, as for a model in a folder.
struct PlaceCounts {
  explicit PlaceCounts(const traces::RunSpec& run) : ranks(run.worldSize()) {
    const bool trains = run.command == traces::Command::kTrain;
    layers = trains ? static_cast<int>(run.model.layers) : 1;
    steps = trains ? run.steps : 1;
  }
  int ranks, layers, steps;
};

}  // namespace

const InjectableMistake& injectableMistake(const std::string& id) {
  std::string known;
  for (const InjectableMistake& mistake : injectableMistakes()) {
    if (mistake.id == id) return mistake;
    known += (known.empty() ? "" : ", ") + mistake.id;
  }
  const bool listed = traces::findMistake(id) != nullptr;
  throw usageError(
      "the mistake '" + id + "' " +
      (listed ? "is in the catalogue but cannot be injected" : "is not in the catalogue") +
      "; these can be: " + known);
}

std::string placed(const std::string& text, const traces::RunSpec& run) {
  AskedMistake asked = AskedMistake::parse(text);
  const PlaceCounts counts(run);
  std::seed_seq seed(asked.id.begin(), asked.id.end());
  std::mt19937 random(seed);
  random.seed(random() ^ static_cast<std::uint32_t>(run.seed));
  const auto draw = [&](std::optional<int>& place, int count) {
    const auto number =
        random();  // drawn for a given place too, so that the other places do not depend on it
    if (!place && count > 0) place = static_cast<int>(number % static_cast<unsigned>(count));
  };
  for (const std::string& place : injectableMistake(asked.id).drawn) {
    if (place == "rank") draw(asked.rank, counts.ranks);
    if (place == "layer") draw(asked.layer, counts.layers);
    if (place == "step") draw(asked.step, counts.steps);
  }
  return asked.text();
}

void inject(const std::string& text, Seams& seams) {
  AskedMistake asked = AskedMistake::parse(text);
  const InjectableMistake& mistake = injectableMistake(asked.id);
  checkPlaces(asked, mistake);
  seams.checks.made.push_back(asked);
  if (asked.buffer.empty()) asked.buffer = mistake.buffer;
  if (!asked.isLimited()) return mistake.inject(seams);
  const Seams before = seams;
  mistake.inject(seams);
  seams = limitedTo(asked, before, seams);
}

}  // namespace ringscope::engine
