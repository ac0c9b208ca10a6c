// SPDX-License-Identifier: Apache-2.0
// Runs with a mistake of the catalogue, of those in which it can show.
#include <algorithm>
#include <initializer_list>

#include "tests/facts/drawing.h"
#include "tests/facts/mistaken_pairs.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::facts {

using engine::TrainConfig;
using traces::Balance;
using traces::MaskKind;
using traces::Strategy;

namespace {

/// A balance that full attention has no use for.
void balanceAllKeys(std::mt19937& random, TrainConfig& config, Plan& plan) {
  config.mask = MaskKind::kFull;
  config.window = plan.window = 0;
  plan.causal = false;
  config.balance = pickOne<Balance>(random, {Balance::kHeadTail, Balance::kStriped});
  plan.dealing = static_cast<Dealing>(*config.balance);
}

bool isOneOf(const std::string& mistake, std::initializer_list<const char*> list) {
  return std::ranges::count(list, mistake) > 0;
}

/// Reports whether the plan shards tokens and passes blocks in a way that lets the mistake change
/// the run.
bool showsInPlan(const std::string& mistake, const Plan& plan) {
  const bool cut = plan.cp > 1, ring = plan.cp / plan.ulysses > 1, passes = ring && !plan.gathers;
  const bool jumps = plan.dealing != Dealing::kContiguous;
  if (mistake == "ring_bypassed") return ring;
  if (mistake == "positions_read_as_documents") return ring && jumps;
  if (mistake == "no_skip_future_block") return ring && plan.causal;
  if (mistake == "mask_dropped") return plan.window > 0;
  if (isOneOf(mistake, {"kv_not_rotated", "stale_kv_in_backward"})) return passes;
  // One head, one token: they can lie in no other order. FP8's messages are bytes.
  if (mistake == "non_contiguous_kv")
    return passes && !plan.fp8 && PlanOracle(plan).kvHeadsEach() > 1 &&
           plan.length / plan.cp * plan.ulysses > 1;
  if (mistake == "wrong_ring_direction") return passes && plan.cp / plan.ulysses > 2;
  // In a ring of two ranks, the rank that drops the hop may record no later event.
  if (mistake == "dropped_hop") return passes && !plan.gathers_once && plan.cp / plan.ulysses > 2;
  if (mistake == "dkv_not_returned") return passes && !plan.own_last;
  if (mistake == "balance_cuts_documents") return cut && plan.dealing == Dealing::kPerDocument;
  if (isOneOf(mistake, {"cp_not_applied", "lse_low_precision", "lse_overflow", "uneven_shards"}))
    return cut;
  if (mistake == "sinks_not_cut_by_heads") return plan.ulysses > 1 && !plan.fp8;
  if (mistake == "sinks_dropped") return !plan.fp8;
  if (mistake == "sinks_on_every_block") return ring && plan.ulysses == 1 && !plan.fp8;
  // With a balance nearly every row has keys of every rank.
  if (mistake == "neutral_element_wrong")
    return ring && plan.ulysses == 1 && plan.causal && !jumps && !plan.fp8;
  if (mistake == "aliased_buffer") return cut && jumps;
  if (mistake == "wrong_buffer_dim") return cut && plan.ulysses == 1;
  return true;
}

/// Whether a mistake changes what such a run records, and by enough labels to tell.
bool shows(const std::string& mistake, const TrainConfig& config, const Plan& plan) {
  const bool cut = plan.cp > 1, packed = config.mask == MaskKind::kDocuments;
  const bool full = config.mask == MaskKind::kFull;
  if (!showsInPlan(mistake, plan)) return false;
  if (mistake == "labels_shifted_twice") return !packed && plan.length >= 16;
  if (mistake == "shift_labels_per_shard") return cut && !packed && plan.length >= 16;
  if (mistake == "different_batches_on_cp_ranks") return cut && !packed && config.steps > 1;
  if (mistake == "same_batch_on_dp_ranks") return plan.dp > 1;
  if (mistake == "missing_cp_grad_reduce") return cut && plan.dp > 1;  // they are over dp
  if (isOneOf(mistake, {"positions_not_reset_per_document", "documents_ignored"})) return packed;
  if (mistake == "balance_without_causal") return cut && full;
  if (isOneOf(mistake, {"loss_scaled_by_cp", "missing_rope_buffer", "grad_scaled_by_cp",
                        "missing_position_ids"}))
    return cut;
  const bool of_layout =
      mistake == "balance_differs_between_buffers" || mistake == "unbalanced_unshard";
  if (of_layout) return cut && plan.dealing != Dealing::kContiguous && plan.length > 2 * plan.cp;
  if (isOneOf(mistake, {"aliased_buffer", "wrong_buffer_dim"})) return !packed;
  if (mistake == "wrong_process_group")
    return cut && plan.dp == plan.cp && plan.ulysses == 1 && !packed;
  if (mistake == "gqa_group_broken") return plan.ulysses > 1 && plan.kv_heads / plan.tp > 1;
  if (mistake == "local_delta_in_backward" || mistake == "naive_sum_merge")
    return plan.cp / plan.ulysses > 1;
  if (mistake == "dropout_rng_reused") return plan.causal;  // rows with few keys tell
  if (mistake == "norm_counts_replicas") return plan.dp * plan.tp * plan.cp > 1;
  if (isOneOf(mistake, {"mean_of_local_means", "metric_not_reduced", "rank_without_targets",
                        "clip_before_reduce"}))
    return plan.dp * plan.cp > 1;
  return true;
}

/// Some row has keys in several blocks.
bool mergesBlocks(const Plan& plan) {
  return MistakenPairs(PlanOracle(plan), "ring_bypassed").changesAny();
}

bool shows(const std::string& mistake, const AttentionDraw& draw) {
  const Plan plan = draw.dealt();
  if (plan.length == 0 || !showsInPlan(mistake, plan)) return false;
  if (mistake == "lse_overflow") return mergesBlocks(plan);
  if (isOneOf(mistake, {"documents_ignored", "padding_unmasked"})) return !plan.documents.empty();
  if (mistake == "uneven_shards") return plan.length < draw.length && plan.documents.empty();
  if (mistake == "heads_not_divisible")
    return plan.heads > plan.ulysses && plan.heads % plan.ulysses != 0;
  return true;
}

/// Changes a drawn run so that it meets the other needs of the mistake.
void prepare(std::mt19937& random, const std::string& mistake, TrainConfig& config, Plan& plan) {
  if (mistake == "balance_without_causal" && plan.cp > 1) balanceAllKeys(random, config, plan);
  if (mistake == "aliased_buffer") plan.batch = 2;
  if (mistake == "wrong_buffer_dim") plan.batch = plan.cp;
  config.batch = plan.batch * plan.dp;
  config.sinks = mistake.starts_with("sinks_");
  config.recompute = mistake == "recompute_differs";
  if (mistake == "dropout_rng_reused") config.dropout = 0.2;
  if (mistake == "clip_before_reduce") config.max_norm = 0.1;
  const bool by_heads = mistake == "gqa_group_broken" && plan.heads / plan.tp % plan.cp == 0;
  if (!by_heads || random() % 2) return;
  config.strategy = Strategy::kUlysses;
  plan.gathers = false;
  plan.ulysses = plan.cp;
  config.ulysses = 0;
}

/// As little as shows the mistake, or more.
std::string drawnCapture(std::mt19937& random, const std::string& mistake) {
  switch (traces::findMistake(mistake)->capture) {
    case traces::CaptureNeeded::kEvents:
      return pickOne<std::string>(random, {"none", "stats", "full"});
    case traces::CaptureNeeded::kStats:
      return pickOne<std::string>(random, {"stats", "full"});
    default:
      return "full";
  }
}

/// Reports whether the mistake leaves no complete result that could be verified.
bool cannotBeVerified(const std::string& mistake) {
  return isOneOf(mistake, {"cp_not_applied", "wrong_buffer_dim", "uneven_shards",
                           "dropout_rng_reused", "dropped_hop"});
}

Case injectedTraining(std::mt19937& random, const std::string& mistake) {
  Case c;
  TrainConfig config;
  Plan plan;
  do {
    config = {};
    plan = drawTrainingPlan(random, config);
    prepare(random, mistake, config, plan);
    config.steps = mistake == "same_batch_on_dp_ranks" ? 2 : drawn(random, 1, 2);
  } while (!shows(mistake, config, plan));
  do {
    drawTrainingType(random, c, config, plan);
  } while (mistake == "recompute_differs" && plan.element_bytes == 2);
  c.mistake = mistake;
  c.ignores_labels = c.of_doctor = true;
  config.mistakes = {mistake};
  config.capture = drawnCapture(random, mistake);
  config.verify = !cannotBeVerified(mistake) && random() % 3 == 0;
  if (mistake == "dropped_hop") config.timeout = std::chrono::milliseconds(400);
  runDrawn(random, c, config, plan);
  return c;
}

Case injectedAttention(std::mt19937& random, const std::string& mistake) {
  AttentionDraw draw;
  do {
    draw = drawAttention(random);
    draw.config.pad = mistake != "uneven_shards";
    if (mistake == "heads_not_divisible") draw.plan.heads = draw.plan.kv_heads = 1 + random() % 12;
  } while (!shows(mistake, draw));
  draw.config.capture = drawnCapture(random, mistake);
  if (mistake == "lse_overflow") draw.scale = 40;
  draw.may_have_sinks = mistake != "cp_not_applied";
  if (cannotBeVerified(mistake)) draw.config.verify = false;
  if (mistake == "dropped_hop") draw.config.timeout = std::chrono::milliseconds(400);
  Case c = recordedAttention(random, draw, mistake);
  c.of_doctor = true;
  return c;
}

}  // namespace

Case drawnInjected(std::mt19937& random, const std::string& mistake) {
  const bool of_attention =
      isOneOf(mistake, {"padding_unmasked", "lse_overflow", "balance_cuts_documents",
                        "uneven_shards", "heads_not_divisible"});
  const bool of_both = isOneOf(
      mistake, {"ring_bypassed", "positions_read_as_documents", "no_skip_future_block",
                "mask_dropped", "documents_ignored", "causal_on_every_block", "kv_not_rotated",
                "stale_kv_in_backward", "non_contiguous_kv", "wrong_ring_direction", "dropped_hop",
                "dkv_not_returned", "cp_not_applied", "lse_low_precision"});
  for (;;) {
    try {
      return of_attention || (of_both && random() % 2) ? injectedAttention(random, mistake)
                                                       : injectedTraining(random, mistake);
    } catch (const Error& error) {  // what the data makes a run without effect is drawn anew
      if (!std::string(error.what()).starts_with("--mistake ")) throw;
    }
  }
}

}  // namespace ringscope::facts
