// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/catalogue/detection.h"

#include "traces/analysis/mistakes/catalogue/hypothesis_functions.h"

namespace ringscope::traces {

// The rules, in traces/analysis/doctor/rules.
RuleResult checkAccumulationMeanOfMeans(const Readings& readings);
RuleResult checkAliasedBuffer(const Trace& trace);
RuleResult checkAttentionScaleDropped(const Readings& readings);
RuleResult checkAuxLossScaledByRanks(const Readings& readings);
RuleResult checkBackwardOutsideContext(const Trace& trace);
RuleResult checkBalanceCutsDocuments(const Trace& trace);
RuleResult checkBalanceDiffersBetweenBuffers(const Readings& readings);
RuleResult checkBalanceWithoutCausal(const Trace& trace);
RuleResult checkCausalOnEveryBlock(const Readings& readings);
RuleResult checkClipBeforeReduce(const Readings& readings);
RuleResult checkCompanionCutOtherwise(const Readings& readings);
RuleResult checkCpNotApplied(const Trace& trace);
RuleResult checkDifferentBatchesOnCpRanks(const Readings& readings);
RuleResult checkDkvNotReturned(const Trace& trace);
RuleResult checkDocumentsIgnored(const Readings& readings);
RuleResult checkDropoutRngReused(const Trace& trace);
RuleResult checkDroppedHop(const Trace& trace);
RuleResult checkEmbeddingDetached(const Trace& trace);
RuleResult checkFutureTokensRolledInShard(const Readings& readings);
RuleResult checkGatheredBackwardCountedTwice(const Readings& readings);
RuleResult checkGqaGroupBroken(const Trace& trace);
RuleResult checkGradScaledByCp(const Readings& readings);
RuleResult checkHeadsNotDivisible(const Trace& trace);
RuleResult checkKvNotRotated(const Readings& readings);
RuleResult checkLabelsShiftedTwice(const Readings& readings);
RuleResult checkLocalDeltaInBackward(const Trace& trace);
RuleResult checkLossScaledByCp(const Readings& readings);
RuleResult checkLseBase2(const Trace& trace);
RuleResult checkLseLowPrecision(const Trace& trace);
RuleResult checkLseOverflow(const Readings& readings);
RuleResult checkMaskDropped(const Readings& readings);
RuleResult checkMaximumNotReduced(const Trace& trace);
RuleResult checkMeanOfLocalMeans(const Readings& readings);
RuleResult checkMediaCutWrongly(const Trace& trace);
RuleResult checkMetricNotReduced(const Readings& readings);
RuleResult checkMissingCpGradReduce(const Readings& readings);
RuleResult checkMissingPositionIds(const Readings& readings);
RuleResult checkMissingRopeBuffer(const Trace& trace);
RuleResult checkNaiveSumMerge(const Trace& trace);
RuleResult checkNanFromOneRank(const Readings& readings);
RuleResult checkNeutralElementWrong(const Readings& readings);
RuleResult checkNoSkipFutureBlock(const Readings& readings);
RuleResult checkNonContiguousKv(const Readings& readings);
RuleResult checkNormCountsReplicas(const Trace& trace);
RuleResult checkPaddingUnmasked(const Readings& readings);
RuleResult checkPositionsNotResetPerDocument(const Trace& trace);
RuleResult checkPositionsReadAsDocuments(const Readings& readings);
RuleResult checkRankWithoutTargets(const Readings& readings);
RuleResult checkRecomputeDiffers(const Trace& trace);
RuleResult checkRingBypassed(const Readings& readings);
RuleResult checkSameBatchOnDpRanks(const Trace& trace);
RuleResult checkShiftLabelsPerShard(const Readings& readings);
RuleResult checkSinksDropped(const Readings& readings);
RuleResult checkSinksNotCutByHeads(const Readings& readings);
RuleResult checkSinksOnEveryBlock(const Readings& readings);
RuleResult checkSoftcapDropped(const Readings& readings);
RuleResult checkStaleKvInBackward(const Readings& readings);
RuleResult checkUnbalancedUnshard(const Trace& trace);
RuleResult checkUnevenShards(const Trace& trace);
RuleResult checkValidationCountsBeforeCut(const Trace& trace);
RuleResult checkWrongBufferDim(const Trace& trace);
RuleResult checkWrongProcessGroup(const Trace& trace);
RuleResult checkWrongRingDirection(const Readings& readings);

const std::vector<Detection>& detections() {
  static const std::vector<Detection> kDetections = {
      {"balance_without_causal", checkBalanceWithoutCausal},
      {"different_batches_on_cp_ranks", checkDifferentBatchesOnCpRanks, RuleOf::kTraining},
      {"same_batch_on_dp_ranks", checkSameBatchOnDpRanks, RuleOf::kTraining},
      {"wrong_buffer_dim", checkWrongBufferDim},
      {"media_cut_wrongly", checkMediaCutWrongly, RuleOf::kTraining},
      {"uneven_shards", checkUnevenShards},
      {"cp_not_applied", checkCpNotApplied},
      {"balance_differs_between_buffers", checkBalanceDiffersBetweenBuffers, RuleOf::kTraining},
      {"companion_cut_otherwise", checkCompanionCutOtherwise, RuleOf::kTraining},
      {"unbalanced_unshard", checkUnbalancedUnshard, RuleOf::kAnyRun, {{14, otherLayout, true}}},
      {"balance_cuts_documents", checkBalanceCutsDocuments},
      {"shift_labels_per_shard",
       checkShiftLabelsPerShard,
       RuleOf::kTraining,
       {},
       {{1, labelsOfShard}}},
      {"labels_shifted_twice",
       checkLabelsShiftedTwice,
       RuleOf::kTraining,
       {},
       {{2, labelsShiftedTwice}}},
      {"future_tokens_rolled_in_shard", checkFutureTokensRolledInShard, RuleOf::kTraining},
      {"positions_not_reset_per_document", checkPositionsNotResetPerDocument, RuleOf::kTraining},
      {"aliased_buffer", checkAliasedBuffer, RuleOf::kTraining},
      {"missing_position_ids", checkMissingPositionIds, RuleOf::kTraining},
      {"missing_rope_buffer", checkMissingRopeBuffer, RuleOf::kTraining},
      {"heads_not_divisible", checkHeadsNotDivisible},
      {"wrong_process_group", checkWrongProcessGroup},
      {"ring_bypassed", checkRingBypassed, RuleOf::kAnyRun, {{4, ownBlocks}}},
      {"no_skip_future_block", checkNoSkipFutureBlock, RuleOf::kAnyRun, {{3, futureBlocks}}},
      {"causal_on_every_block",
       checkCausalOnEveryBlock,
       RuleOf::kAnyRun,
       {{13, causalBlocks, true}}},
      {"mask_dropped", checkMaskDropped, RuleOf::kDeclaredMask, {{1, droppedMask}}},
      {"documents_ignored", checkDocumentsIgnored, RuleOf::kDeclaredMask, {{2, acrossDocuments}}},
      {"padding_unmasked", checkPaddingUnmasked, RuleOf::kDeclaredMask},
      {"positions_read_as_documents", checkPositionsReadAsDocuments, RuleOf::kDeclaredMask},
      {"attention_scale_dropped", checkAttentionScaleDropped, RuleOf::kTraining},
      {"softcap_dropped", checkSoftcapDropped, RuleOf::kTraining},
      {"sinks_dropped", checkSinksDropped, RuleOf::kTraining},
      {"sinks_on_every_block", checkSinksOnEveryBlock, RuleOf::kTraining},
      {"sinks_not_cut_by_heads", checkSinksNotCutByHeads, RuleOf::kTraining},
      {"neutral_element_wrong", checkNeutralElementWrong, RuleOf::kTraining},
      {"dropped_hop", checkDroppedHop, RuleOf::kAnyRun, {{7, lostHop, true}}},
      {"kv_not_rotated", checkKvNotRotated, RuleOf::kAnyRun, {{6, ownValues}}},
      {"wrong_ring_direction", checkWrongRingDirection, RuleOf::kAnyRun, {{5, mirroredRing}}},
      {"non_contiguous_kv", checkNonContiguousKv},
      {"gqa_group_broken", checkGqaGroupBroken, RuleOf::kTraining, {{15, otherHeads, true}}},
      {"lse_base2", checkLseBase2, RuleOf::kTraining, {{9, baseTwo}}},
      {"naive_sum_merge", checkNaiveSumMerge, RuleOf::kAnyRun, {{8, plainSum}}},
      {"lse_overflow", checkLseOverflow},
      {"lse_low_precision", checkLseLowPrecision, RuleOf::kAnyRun, {{16, lowPrecision, true}}},
      {"rank_without_targets",
       checkRankWithoutTargets,
       RuleOf::kTraining,
       {},
       {{6, meanOfNoTarget}}},
      {"mean_of_local_means", checkMeanOfLocalMeans, RuleOf::kTraining, {}, {{3, meanOfMeans}}},
      {"accumulation_mean_of_means", checkAccumulationMeanOfMeans, RuleOf::kTraining},
      {"gathered_backward_counted_twice", checkGatheredBackwardCountedTwice, RuleOf::kTraining},
      {"loss_scaled_by_cp", checkLossScaledByCp, RuleOf::kTraining, {}, {{4, lossTimesCp}}},
      {"metric_not_reduced", checkMetricNotReduced, RuleOf::kTraining, {}, {{5, lossOfRank}}},
      {"stale_kv_in_backward", checkStaleKvInBackward, RuleOf::kAnyRun, {{11, ownValuesBackward}}},
      {"backward_outside_context", checkBackwardOutsideContext, RuleOf::kTraining},
      {"recompute_differs", checkRecomputeDiffers, RuleOf::kTraining},
      {"local_delta_in_backward",
       checkLocalDeltaInBackward,
       RuleOf::kTraining,
       {{10, sumsOfStage}}},
      {"dropout_rng_reused", checkDropoutRngReused, RuleOf::kTraining},
      {"dkv_not_returned", checkDkvNotReturned, RuleOf::kAnyRun, {{12, displacedSums}}},
      {"embedding_detached", checkEmbeddingDetached, RuleOf::kTraining},
      {"aux_loss_scaled_by_ranks", checkAuxLossScaledByRanks, RuleOf::kTraining},
      {"missing_cp_grad_reduce", checkMissingCpGradReduce, RuleOf::kTraining, {}, {{7, sumOverDp}}},
      {"clip_before_reduce", checkClipBeforeReduce, RuleOf::kTraining, {}, {{9, sumOfSmaller}}},
      {"grad_scaled_by_cp", checkGradScaledByCp, RuleOf::kTraining, {}, {{8, gradientsTimesCp}}},
      {"norm_counts_replicas",
       checkNormCountsReplicas,
       RuleOf::kTraining,
       {},
       {{10, normOfReplicas}}},
      {"maximum_not_reduced", checkMaximumNotReduced, RuleOf::kTraining},
      {"validation_counts_before_cut", checkValidationCountsBeforeCut, RuleOf::kTraining},
      {"nan_from_one_rank", checkNanFromOneRank},
  };
  return kDetections;
}

}  // namespace ringscope::traces
