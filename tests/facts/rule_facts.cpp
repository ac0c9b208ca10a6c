// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/rule_facts.h"

#include <algorithm>
#include <functional>
#include <map>

#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::facts {

using traces::Verdict;

namespace {

/// Some row has keys in several blocks, so that how they are merged matters.
bool mergesBlocks(const PlanOracle& oracle) {
  for (int rank = 0; rank < oracle.plan().cp; ++rank)
    for (const int query : oracle.attended(rank)) {
      int blocks = 0;
      for (const int source : oracle.ring(rank)) {
        bool any = false;
        for (const int key : oracle.attended(source)) any = any || oracle.allowed(query, key);
        blocks += any;
      }
      if (blocks > 1) return true;
    }
  return false;
}

/// Asks for every sequence of the run whose positions are known to count from somewhere.
bool anySequence(const Case& c, const std::function<bool(int step, int group)>& holds) {
  for (int step = 0; step < c.steps; ++step)
    for (int group = 0; group < c.groups(); ++group)
      if (c.positionsKnown(step, group) && holds(step, group)) return true;
  return false;
}

/// A rank that numbers its own tokens from 0 gives some of them another position.
bool restartChangesPositions(const Case& c) {
  return anySequence(c, [&](int step, int group) {
    const PlanOracle& oracle = c.oracle(step, group);
    for (int rank = 0; rank < c.cp; ++rank)
      for (int row = 0; row < std::ssize(oracle.own(rank)); ++row)
        if (c.positionFor(step, group, oracle.own(rank)[static_cast<std::size_t>(row)]) != row)
          return true;
    return false;
  });
}

Verdict knownIf(bool recorded) {
  return recorded ? Verdict::kClear : Verdict::kNotObservable;
}

std::optional<Verdict> ofPositions(const Case& c) {
  const bool recorded = c.train && c.stats && anySequence(c, [](int, int) { return true; });
  if (recorded && c.mistake == "missing_position_ids" && restartChangesPositions(c))
    return Verdict::kFound;
  return knownIf(recorded);
}

std::optional<Verdict> ofPackedPositions(const Case& c) {
  const bool packed = !c.oracles.front().plan().documents.empty();
  if (packed && c.mistake == "missing_position_ids") return std::nullopt;
  return knownIf(c.train && c.stats && anySequence(c, [](int, int) { return true; }));
}

std::optional<Verdict> ofMerges(const Case& c) {
  if (c.mistake == "nan_from_one_rank") return std::nullopt;
  if (c.cp == 1 && (c.mistake == "naive_sum_merge" || !c.values)) return std::nullopt;
  if (!c.values || c.mistake != "naive_sum_merge") return knownIf(c.values);
  return mergesBlocks(c.oracles.front()) ? std::optional(Verdict::kFound) : std::nullopt;
}

std::optional<Verdict> ofGradients(const Case& c) {
  if (c.cp == 1) return Verdict::kClear;
  if (c.train && c.stats && c.mistake == "missing_cp_grad_reduce") return Verdict::kFound;
  return knownIf(c.train && c.stats);
}

/// The rule uses the values of all gradients, or else the verdicts on them.
std::optional<Verdict> ofGradientValues(const Case& c) {
  const bool full = c.train && c.capture == "full";
  if (!full && !(c.train && c.verify)) return Verdict::kNotObservable;
  return full && c.mistake.empty() ? std::optional(Verdict::kClear) : std::nullopt;
}

std::optional<Verdict> ofGradientScale(const Case& c) {
  return c.cp == 1 ? Verdict::kClear : ofGradientValues(c);
}

std::optional<Verdict> ofNorm(const Case& c) {
  return c.dp * c.tp * c.cp == 1 ? Verdict::kClear : ofGradientValues(c);
}

/// NaN in a gradient is not 0.
std::optional<Verdict> ofEmbedding(const Case& c) {
  return knownIf(c.train && c.stats);
}

std::optional<Verdict> ofFinite(const Case& c) {
  return c.stats && c.mistake == "nan_from_one_rank" ? Verdict::kFound : knownIf(c.stats);
}

std::optional<Verdict> ofLosses(const Case& c) {
  const bool finite = c.mistake != "nan_from_one_rank" || c.made.step != 0;
  return knownIf(c.train && c.stats && finite);
}

std::optional<Verdict> ofLabels(const Case& c) {
  return knownIf(c.train && c.stats);
}

/// Every recording contains the attended blocks and the messages.
std::optional<Verdict> ofEvents(const Case&) {
  return Verdict::kClear;
}

/// How buffers were cut is recorded with statistics.
std::optional<Verdict> ofShards(const Case& c) {
  return c.cp == 1 ? Verdict::kClear : knownIf(c.stats);
}

/// Blocks that go round are told apart by their hashes; where each rank keeps its own, there is
/// nothing to tell.
std::optional<Verdict> ofBlocks(const Case& c) {
  const bool stay = c.oracles.front().ring(0).size() == 1;
  return stay ? Verdict::kClear : knownIf(c.stats && !isGathered(c));
}

/// The rule computes blocks again from values. The plan does not tell for which runs this is
/// impossible.
std::optional<Verdict> ofComputedBlocks(const Case& c) {
  return c.values || c.cp == 1 ? std::nullopt : std::optional(Verdict::kNotObservable);
}

/// cos and sin are recorded with values.
std::optional<Verdict> ofTables(const Case& c) {
  return knownIf(c.train && c.values);
}

/// The rules compute layers again from values. Runs with a mistake may have layers that agree with
/// no attention.
std::optional<Verdict> ofComputedLayers(const Case& c) {
  if (!c.train || !c.values) return Verdict::kNotObservable;
  return c.mistake.empty() ? std::optional(Verdict::kClear) : std::nullopt;
}

/// Statistics tell of a merge only where every row has a key in every block.
std::optional<Verdict> ofOverflow(const Case& c) {
  if (c.stats && !c.values) return std::nullopt;
  return knownIf(c.values);
}

/// Which KV head a query head attended.
std::optional<Verdict> ofHeads(const Case& c) {
  if (c.oracles.front().plan().kv_heads == 1) return Verdict::kClear;
  if (c.mistake == "nan_from_one_rank") return std::nullopt;
  return knownIf(c.train && c.values);
}

/// No training that is drawn has dropout or computes activations again.
std::optional<Verdict> ofDropout(const Case& c) {
  return knownIf(c.train || c.out_is_plain);
}

std::optional<Verdict> always(const Case&) {
  return Verdict::kClear;
}
std::optional<Verdict> ofBatches(const Case& c) {
  return c.cp == 1 ? Verdict::kClear : knownIf(c.train && c.stats);
}
std::optional<Verdict> ofUnshard(const Case& c) {
  return c.cp == 1 ? Verdict::kClear : knownIf(c.stats);
}
std::optional<Verdict> ofAliases(const Case& c) {
  return c.mistake == "missing_position_ids" ? std::nullopt : ofPositions(c);
}

/// The rules' expected answers for runs without a mistake, and for runs with a mistake whose scenes
/// are all compared.
using Rule = std::optional<Verdict> (*)(const Case& c);
const std::map<std::string, Rule>& plainRules() {
  static const std::map<std::string, Rule> kRules = {
      {"balance_without_causal", always},
      {"different_batches_on_cp_ranks", ofBatches},
      {"same_batch_on_dp_ranks",
       [](const Case& c) { return std::optional(c.dp == 1 ? Verdict::kClear : knownIf(c.stats)); }},
      {"balance_differs_between_buffers", ofLabels},
      {"unbalanced_unshard", ofUnshard},
      {"shift_labels_per_shard", ofLabels},
      {"labels_shifted_twice", ofLabels},
      {"positions_not_reset_per_document", ofPackedPositions},
      {"missing_position_ids", ofPositions},
      {"aliased_buffer", ofAliases},
      {"missing_rope_buffer", ofTables},
      {"balance_cuts_documents", ofShards},
      {"wrong_buffer_dim", ofShards},
      {"uneven_shards", ofShards},
      {"cp_not_applied", ofShards},
      {"heads_not_divisible", ofEvents},
      {"padding_unmasked", ofEvents},
      {"positions_read_as_documents", ofEvents},
      {"wrong_process_group", ofEvents},
      {"ring_bypassed", ofEvents},
      {"no_skip_future_block", ofEvents},
      {"causal_on_every_block", ofEvents},
      {"mask_dropped", ofEvents},
      {"documents_ignored", ofEvents},
      {"kv_not_rotated", ofBlocks},
      {"wrong_ring_direction", ofBlocks},
      {"non_contiguous_kv", ofBlocks},
      {"stale_kv_in_backward", ofBlocks},
      {"dkv_not_returned", ofEvents},
      {"lse_base2", ofComputedBlocks},
      {"gqa_group_broken", ofHeads},
      {"naive_sum_merge", ofMerges},
      {"attention_scale_dropped", ofComputedLayers},
      {"softcap_dropped", ofComputedLayers},
      {"sinks_dropped", ofComputedLayers},
      {"sinks_on_every_block", ofComputedLayers},
      {"sinks_not_cut_by_heads", ofComputedLayers},
      {"neutral_element_wrong", ofComputedLayers},
      {"lse_overflow", ofOverflow},
      {"lse_low_precision", ofComputedBlocks},
      {"local_delta_in_backward", ofComputedBlocks},
      {"recompute_differs", always},
      {"dropout_rng_reused", ofDropout},
      {"dropped_hop", always},
      {"rank_without_targets", ofLosses},
      {"mean_of_local_means", ofLosses},
      {"loss_scaled_by_cp", ofLosses},
      {"metric_not_reduced", ofLosses},
      {"embedding_detached", ofEmbedding},
      {"missing_cp_grad_reduce", ofGradients},
      {"clip_before_reduce", ofGradientValues},
      {"grad_scaled_by_cp", ofGradientScale},
      {"norm_counts_replicas", ofNorm},
      {"nan_from_one_rank", ofFinite},
  };
  return kRules;
}

}  // namespace

bool isGathered(const Case& c) {
  return c.oracles.front().plan().gathers;
}

std::optional<Verdict> rightVerdict(const Case& c, const std::string& rule) {
  if (c.of_doctor) return injectedVerdict(c, rule);
  const auto known = plainRules().find(rule);
  if (known != plainRules().end()) return known->second(c);
  if (!traces::findMistake(rule)->injectable) return Verdict::kNotObservable;
  ADD_FAILURE() << "the oracle does not know " << rule;
  return std::nullopt;
}

/// Ranks of one tp group have one batch.
bool isWithoutTargets(const Case& c, int group, int rank) {
  const int tokens_of = c.made.rank.value() / c.cp / c.tp * c.cp + c.made.rank.value() % c.cp;
  return group / c.tp * c.cp + rank == tokens_of;
}

std::vector<std::vector<int>> usedLabels(const Case& c, int step, int group, int rank) {
  const PlanOracle& oracle = c.oracle(step, group);
  const auto& own = oracle.own(rank);
  std::vector<std::vector<int>> rows;
  for (int row = 0; row < oracle.plan().batch; ++row) {
    std::vector<int> labels;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool last = i + 1 == own.size();
      const auto here = c.at(step, group, row, own[i]),
                 next = last ? here : c.at(step, group, row, own[i + 1]);
      if (c.mistake == "shift_labels_per_shard")
        labels.push_back(last ? -100 : c.tokens[next]);
      else if (c.mistake == "labels_shifted_twice")
        labels.push_back(last ? -100 : c.labels[next]);
      else if (c.mistake == "rank_without_targets" && isWithoutTargets(c, group, rank))
        labels.push_back(-100);
      else
        labels.push_back(c.labels[here]);
    }
    rows.push_back(std::move(labels));
  }
  return rows;
}

std::int64_t countTargets(const Case& c, int step, int group, int rank) {
  std::int64_t targets = 0;
  for (const auto& row : usedLabels(c, step, group, rank))
    targets += std::ranges::count_if(row, [](int label) { return label >= 0; });
  return targets;
}

}  // namespace ringscope::facts
