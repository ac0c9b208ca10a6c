// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

RuleResult checkBalanceWithoutCausal(const Trace& trace);
RuleResult checkBalanceCutsDocuments(const Trace& trace);
RuleResult checkDifferentBatchesOnCpRanks(const Trace& trace);
RuleResult checkSameBatchOnDpRanks(const Trace& trace);
RuleResult checkWrongBufferDim(const Trace& trace);
RuleResult checkUnevenShards(const Trace& trace);
RuleResult checkCpNotApplied(const Trace& trace);
RuleResult checkBalanceDiffersBetweenBuffers(const Trace& trace);
RuleResult checkUnbalancedUnshard(const Trace& trace);
RuleResult checkShiftLabelsPerShard(const Trace& trace);
RuleResult checkLabelsShiftedTwice(const Trace& trace);
RuleResult checkPositionsNotResetPerDocument(const Trace& trace);
RuleResult checkAliasedBuffer(const Trace& trace);
RuleResult checkMissingPositionIds(const Trace& trace);
RuleResult checkMissingRopeBuffer(const Trace& trace);
RuleResult checkHeadsNotDivisible(const Trace& trace);
RuleResult checkWrongProcessGroup(const Trace& trace);
RuleResult checkRingBypassed(const Trace& trace);
RuleResult checkNoSkipFutureBlock(const Trace& trace);
RuleResult checkCausalOnEveryBlock(const Trace& trace);
RuleResult checkMaskDropped(const Trace& trace);
RuleResult checkDocumentsIgnored(const Trace& trace);
RuleResult checkPaddingUnmasked(const Trace& trace);
RuleResult checkPositionsReadAsDocuments(const Trace& trace);
RuleResult checkDroppedHop(const Trace& trace);
RuleResult checkKvNotRotated(const Trace& trace);
RuleResult checkWrongRingDirection(const Trace& trace);
RuleResult checkNonContiguousKv(const Trace& trace);
RuleResult checkLseBase2(const Trace& trace);
RuleResult checkNaiveSumMerge(const Trace& trace);
RuleResult checkLseLowPrecision(const Trace& trace);
RuleResult checkLseOverflow(const Trace& trace);
RuleResult checkGqaGroupBroken(const Trace& trace);
RuleResult checkRankWithoutTargets(const Trace& trace);
RuleResult checkMeanOfLocalMeans(const Trace& trace);
RuleResult checkLossScaledByCp(const Trace& trace);
RuleResult checkMetricNotReduced(const Trace& trace);
RuleResult checkStaleKvInBackward(const Trace& trace);
RuleResult checkLocalDeltaInBackward(const Trace& trace);
RuleResult checkRecomputeDiffers(const Trace& trace);
RuleResult checkDropoutRngReused(const Trace& trace);
RuleResult checkDkvNotReturned(const Trace& trace);
RuleResult checkMissingCpGradReduce(const Trace& trace);
RuleResult checkClipBeforeReduce(const Trace& trace);
RuleResult checkGradScaledByCp(const Trace& trace);
RuleResult checkNormCountsReplicas(const Trace& trace);
RuleResult checkEmbeddingDetached(const Trace& trace);
RuleResult checkNanFromOneRank(const Trace& trace);

/// In the order of the data's way through a training step.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"balance_without_causal", checkBalanceWithoutCausal},
      {"different_batches_on_cp_ranks", checkDifferentBatchesOnCpRanks, RuleOf::kTraining},
      {"same_batch_on_dp_ranks", checkSameBatchOnDpRanks, RuleOf::kTraining},
      {"wrong_buffer_dim", checkWrongBufferDim},
      {"uneven_shards", checkUnevenShards},
      {"cp_not_applied", checkCpNotApplied},
      {"balance_differs_between_buffers", checkBalanceDiffersBetweenBuffers, RuleOf::kTraining},
      {"unbalanced_unshard", checkUnbalancedUnshard},
      {"balance_cuts_documents", checkBalanceCutsDocuments},
      {"shift_labels_per_shard", checkShiftLabelsPerShard, RuleOf::kTraining},
      {"labels_shifted_twice", checkLabelsShiftedTwice, RuleOf::kTraining},
      {"positions_not_reset_per_document", checkPositionsNotResetPerDocument, RuleOf::kTraining},
      {"aliased_buffer", checkAliasedBuffer, RuleOf::kTraining},
      {"missing_position_ids", checkMissingPositionIds, RuleOf::kTraining},
      {"missing_rope_buffer", checkMissingRopeBuffer, RuleOf::kTraining},
      {"heads_not_divisible", checkHeadsNotDivisible},
      {"wrong_process_group", checkWrongProcessGroup},
      {"ring_bypassed", checkRingBypassed},
      {"no_skip_future_block", checkNoSkipFutureBlock},
      {"causal_on_every_block", checkCausalOnEveryBlock},
      {"mask_dropped", checkMaskDropped, RuleOf::kDeclaredMask},
      {"documents_ignored", checkDocumentsIgnored, RuleOf::kDeclaredMask},
      {"padding_unmasked", checkPaddingUnmasked, RuleOf::kDeclaredMask},
      {"positions_read_as_documents", checkPositionsReadAsDocuments, RuleOf::kDeclaredMask},
      {"dropped_hop", checkDroppedHop},
      {"kv_not_rotated", checkKvNotRotated},
      {"wrong_ring_direction", checkWrongRingDirection},
      {"non_contiguous_kv", checkNonContiguousKv},
      {"gqa_group_broken", checkGqaGroupBroken, RuleOf::kTraining},
      {"lse_base2", checkLseBase2, RuleOf::kTraining},
      {"naive_sum_merge", checkNaiveSumMerge},
      {"lse_overflow", checkLseOverflow},
      {"lse_low_precision", checkLseLowPrecision},
      {"rank_without_targets", checkRankWithoutTargets, RuleOf::kTraining},
      {"mean_of_local_means", checkMeanOfLocalMeans, RuleOf::kTraining},
      {"loss_scaled_by_cp", checkLossScaledByCp, RuleOf::kTraining},
      {"metric_not_reduced", checkMetricNotReduced, RuleOf::kTraining},
      {"stale_kv_in_backward", checkStaleKvInBackward},
      {"recompute_differs", checkRecomputeDiffers, RuleOf::kTraining},
      {"local_delta_in_backward", checkLocalDeltaInBackward, RuleOf::kTraining},
      {"dropout_rng_reused", checkDropoutRngReused, RuleOf::kTraining},
      {"dkv_not_returned", checkDkvNotReturned},
      {"embedding_detached", checkEmbeddingDetached, RuleOf::kTraining},
      {"missing_cp_grad_reduce", checkMissingCpGradReduce, RuleOf::kTraining},
      {"clip_before_reduce", checkClipBeforeReduce, RuleOf::kTraining},
      {"grad_scaled_by_cp", checkGradScaledByCp, RuleOf::kTraining},
      {"norm_counts_replicas", checkNormCountsReplicas, RuleOf::kTraining},
      {"nan_from_one_rank", checkNanFromOneRank},
  };
  return kRules;
}

RuleResult Rule::check(const Trace& trace) const {
  RuleResult result = judge(trace);
  for (Finding& finding : result.findings) finding.rule = id;
  return result;
}

bool hasOneCpRank(const Trace& trace) {
  return trace.run() && trace.run()->cp == 1;
}

RuleResult clear() {
  return {};
}
RuleResult found(Finding finding) {
  return {Verdict::kFound, {std::move(finding)}, ""};
}
RuleResult notObservable(std::string would_settle) {
  return {Verdict::kNotObservable, {}, std::move(would_settle)};
}
RuleResult undecided(std::string would_settle) {
  return {Verdict::kNotObservable, {}, std::move(would_settle), false};
}

}  // namespace ringscope::traces
