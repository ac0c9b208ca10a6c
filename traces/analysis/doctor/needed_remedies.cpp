// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/needed_remedies.h"

#include <map>
#include <set>

namespace ringscope::traces {
namespace {

/// Returns the rules that need attended blocks beside values.
const std::set<std::string>& rulesOfBlocks() {
  static const std::set<std::string> kRules = {"attention_scale_dropped",
                                               "dropout_rng_reused",
                                               "gqa_group_broken",
                                               "local_delta_in_backward",
                                               "lse_base2",
                                               "lse_low_precision",
                                               "lse_overflow",
                                               "naive_sum_merge",
                                               "neutral_element_wrong",
                                               "recompute_differs",
                                               "sinks_dropped",
                                               "sinks_not_cut_by_heads",
                                               "sinks_on_every_block",
                                               "softcap_dropped"};
  return kRules;
}

/// Returns the remedies by rule. A rule without a row needs values alone.
const std::map<std::string, std::vector<Remedy>>& neededBy() {
  using enum Remedy;
  static const std::vector<Remedy> kBlocksOfRing = {kWholeRun, kMesh, kBlocks},
                                   kPairs = {kWholeRun, kMesh, kBlocks, kDeclaredMask},
                                   kLoss = {kMesh, kLoggedLoss, kDeclaredLoss},
                                   kHops = {kMergedFiles, kWholeRun, kMesh, kBlocks},
                                   kTokens = {kMergedFiles, kMesh, kBuffers},
                                   kSync = {kMesh, kModel};
  static const std::map<std::string, std::vector<Remedy>> kNeeded = {
      {"different_batches_on_cp_ranks", {kMesh, kBuffers}},
      {"same_batch_on_dp_ranks", {kMesh, kBuffers}},
      {"wrong_buffer_dim", {kMergedFiles, kMesh, kBuffers, kBlocks}},
      {"uneven_shards", kTokens},
      {"cp_not_applied", kTokens},
      {"balance_differs_between_buffers", kTokens},
      {"companion_cut_otherwise", kTokens},
      {"unbalanced_unshard", {kMergedFiles, kMesh, kBuffers, kBlocks}},
      {"balance_cuts_documents", {kMergedFiles, kMesh, kBuffers, kBlocks}},
      {"shift_labels_per_shard", kTokens},
      {"labels_shifted_twice", kTokens},
      {"future_tokens_rolled_in_shard", kTokens},
      {"positions_not_reset_per_document", {kMesh, kBuffers, kDeclaredPositions}},
      {"aliased_buffer", {kMergedFiles, kMesh, kBuffers, kDeclaredPositions}},
      {"missing_position_ids", {kMesh, kBuffers}},
      {"heads_not_divisible", {kMergedFiles, kBlocks}},
      {"wrong_process_group", {kMesh}},
      {"ring_bypassed", kBlocksOfRing},
      {"no_skip_future_block", kBlocksOfRing},
      {"causal_on_every_block", kBlocksOfRing},
      {"mask_dropped", kPairs},
      {"documents_ignored", kPairs},
      {"padding_unmasked", kPairs},
      {"positions_read_as_documents", kPairs},
      {"dropped_hop", kHops},
      {"kv_not_rotated", kHops},
      {"wrong_ring_direction", kHops},
      {"non_contiguous_kv", kHops},
      {"stale_kv_in_backward", kHops},
      {"dkv_not_returned", kHops},
      {"aux_loss_scaled_by_ranks", {kMesh, kModel, kAuxiliaryLoss}},
      {"backward_outside_context", {kMesh}},
      {"maximum_not_reduced", {kMesh, kModel, kTwoSteps}},
      {"media_cut_wrongly", kTokens},
      {"validation_counts_before_cut", {kMesh, kTwoSteps, kLoggedValidation}},
      {"rank_without_targets", kLoss},
      {"mean_of_local_means", kLoss},
      {"loss_scaled_by_cp", kLoss},
      {"metric_not_reduced", kLoss},
      {"embedding_detached", kSync},
      {"missing_cp_grad_reduce", kSync},
      {"clip_before_reduce", kSync},
      {"grad_scaled_by_cp", kSync},
      {"norm_counts_replicas", {kMesh, kModel, kLoggedNorm}},
  };
  return kNeeded;
}

}  // namespace

std::vector<Remedy> neededRemedies(const std::string& rule) {
  if (const auto row = neededBy().find(rule); row != neededBy().end()) return row->second;
  return rulesOfBlocks().contains(rule) ? std::vector{Remedy::kBlocks} : std::vector<Remedy>();
}

}  // namespace ringscope::traces
