// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/registry.h"

#include "traces/core/error.h"
#include "traces/mistakes/catalogue.h"

namespace ringscope::engine {

void injectAliasedBuffer(Seams& seams);
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
void injectStaleKvInBackward(Seams& seams);
void injectUnbalancedUnshard(Seams& seams);
void injectUnevenShards(Seams& seams);
void injectWrongBufferDim(Seams& seams);
void injectWrongProcessGroup(Seams& seams);
void injectWrongRingDirection(Seams& seams);

const std::vector<InjectableMistake>& injectableMistakes() {
  static const std::vector<InjectableMistake> kMistakes = {
      {"aliased_buffer", injectAliasedBuffer},
      {"balance_cuts_documents", injectBalanceCutsDocuments, true},
      {"balance_differs_between_buffers", injectBalanceDiffersBetweenBuffers},
      {"balance_without_causal", injectBalanceWithoutCausal},
      {"causal_on_every_block", injectCausalOnEveryBlock},
      {"clip_before_reduce", injectClipBeforeReduce},
      {"cp_not_applied", injectCpNotApplied},
      {"different_batches_on_cp_ranks", injectDifferentBatchesOnCpRanks},
      {"dkv_not_returned", injectDkvNotReturned},
      {"documents_ignored", injectDocumentsIgnored},
      {"dropout_rng_reused", injectDropoutRngReused},
      {"dropped_hop", injectDroppedHop},
      {"embedding_detached", injectEmbeddingDetached},
      {"gqa_group_broken", injectGqaGroupBroken},
      {"grad_scaled_by_cp", injectGradScaledByCp},
      {"heads_not_divisible", injectHeadsNotDivisible},
      {"kv_not_rotated", injectKvNotRotated},
      {"labels_shifted_twice", injectLabelsShiftedTwice},
      {"local_delta_in_backward", injectLocalDeltaInBackward},
      {"loss_scaled_by_cp", injectLossScaledByCp},
      {"lse_base2", injectLseBase2},
      {"lse_low_precision", injectLseLowPrecision},
      {"lse_overflow", injectLseOverflow},
      {"mask_dropped", injectMaskDropped},
      {"mean_of_local_means", injectMeanOfLocalMeans},
      {"metric_not_reduced", injectMetricNotReduced},
      {"missing_cp_grad_reduce", injectMissingCpGradReduce},
      {"missing_position_ids", injectMissingPositionIds},
      {"missing_rope_buffer", injectMissingRopeBuffer},
      {"naive_sum_merge", injectNaiveSumMerge},
      {"nan_from_one_rank", injectNanFromOneRank},
      {"no_skip_future_block", injectNoSkipFutureBlock},
      {"non_contiguous_kv", injectNonContiguousKv},
      {"norm_counts_replicas", injectNormCountsReplicas},
      {"padding_unmasked", injectPaddingUnmasked},
      {"positions_not_reset_per_document", injectPositionsNotResetPerDocument},
      {"positions_read_as_documents", injectPositionsReadAsDocuments},
      {"rank_without_targets", injectRankWithoutTargets},
      {"recompute_differs", injectRecomputeDiffers},
      {"ring_bypassed", injectRingBypassed},
      {"same_batch_on_dp_ranks", injectSameBatchOnDpRanks},
      {"shift_labels_per_shard", injectShiftLabelsPerShard},
      {"stale_kv_in_backward", injectStaleKvInBackward},
      {"unbalanced_unshard", injectUnbalancedUnshard},
      {"uneven_shards", injectUnevenShards, true},
      {"wrong_buffer_dim", injectWrongBufferDim},
      {"wrong_process_group", injectWrongProcessGroup},
      {"wrong_ring_direction", injectWrongRingDirection},
  };
  return kMistakes;
}

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

void inject(const std::string& id, Seams& seams) {
  injectableMistake(id).inject(seams);
}

}  // namespace ringscope::engine
