// SPDX-License-Identifier: Apache-2.0
// Whether a mistake that was made must be found: where it changes what the run records.
#include <algorithm>

#include "tests/facts/mistaken_pairs.h"
#include "tests/facts/rule_facts.h"

namespace ringscope::facts {

using traces::Verdict;

namespace {

/// Whether step 0 logged the sum of the ranks' recorded losses by all targets: also a mean of means
/// may be that by chance.
bool logsTheRightLoss(const Case& c) {
  double sum = 0, targets = 0;
  for (const traces::TensorRecord& tensor : c.trace->tensors()) {
    const int world = tensor.rank.value(), group = world / c.cp;
    if (!tensor.tensor.text().ends_with("loss.sum") || tensor.place.train_step != 0 ||
        group % c.tp != 0)
      continue;
    sum += tensor.stats.mean;
    targets += static_cast<double>(countTargets(c, 0, group, world % c.cp));
  }
  const double right = sum / targets, logged = c.trace->note("step.0").at("loss").get<double>();
  return std::abs(logged - right) <= 1e-5 * right;
}

/// Reports whether a mistake in the loss makes the logged loss differ from the right one.
bool changesTheLoss(const Case& c) {
  std::set<std::int64_t> targets;
  for (int group = 0; group < c.groups(); group += c.tp)
    for (int rank = 0; rank < c.cp; ++rank) targets.insert(countTargets(c, 0, group, rank));
  if (targets.contains(0)) return false;  // another of these mistakes may be its name
  return !logsTheRightLoss(c);
}

/// A shard's next token is not the sequence's, for a token with a label.
bool movesLabels(const Case& c) {
  for (int step = 0; step < c.steps; ++step)
    for (int group = 0; group < c.groups(); ++group)
      for (int rank = 0; rank < c.cp; ++rank) {
        const auto& own = c.oracle(step, group).own(rank);
        for (std::size_t i = 0; i + 1 < own.size(); ++i)
          if (own[i + 1] != own[i] + 1) return true;
      }
  return false;
}

/// Some query attends keys of several blocks.
bool mergesBlocks(const Case& c) {
  return std::ranges::any_of(c.oracles, [](const PlanOracle& oracle) {
    return MistakenPairs(oracle, "ring_bypassed").changesAny();
  });
}

/// Returns the number of ranks with at least one key that the query attends.
int blocksFor(const PlanOracle& oracle, int rank, int query) {
  return static_cast<int>(std::ranges::count_if(oracle.ring(rank), [&](int source) {
    return std::ranges::any_of(oracle.attended(source),
                               [&](int key) { return oracle.allowed(query, key); });
  }));
}

/// Some query attends keys of several blocks and has a target: without one it may get no gradient.
bool mergesBlocksOfTargets(const Case& c) {
  for (int step = 0; step < c.steps; ++step)
    for (int group = 0; group < c.groups(); ++group) {
      const PlanOracle& oracle = c.oracle(step, group);
      for (int rank = 0; rank < c.cp; ++rank)
        for (const int query : oracle.own(rank))
          for (int row = 0; row < oracle.plan().batch; ++row)
            if (c.labels[c.at(step, group, row, query)] >= 0 && blocksFor(oracle, rank, query) > 1)
              return true;
    }
  return false;
}

/// Some rank has so many running sums that not all of them have few bits by chance.
bool hasEnoughSums(const Case& c) {
  const PlanOracle& oracle = c.oracles.front();
  constexpr std::int64_t kEnough = 8;
  for (int rank = 0; rank < oracle.plan().cp; ++rank) {
    const auto rows = std::ssize(oracle.queries(rank, oracle.ring(rank)));
    if (rows * oracle.headsEach() * oracle.plan().batch >= kEnough) return true;
  }
  return false;
}

/// Some sequence has more than one document.
bool hasBorders(const Case& c) {
  return std::ranges::any_of(
      c.oracles, [](const PlanOracle& oracle) { return oracle.plan().documents.size() > 1; });
}

/// Other pairs are attended than the mask has.
std::optional<Verdict> ofPairs(const Case& c) {
  bool crosses = false;
  for (int group = 0; group < c.groups(); ++group)
    for (int step = 0; step < c.steps; ++step) {
      const MistakenPairs pairs(c.oracle(step, group), c.mistake);
      crosses = crosses || pairs.crossesDocuments();
      if (!pairs.changesAny()) continue;
      // If queries attend only padding besides, the recording does not tell that documents had to
      // be kept apart.
      if (c.mistake == "documents_ignored" && !crosses) return std::nullopt;
      return Verdict::kFound;
    }
  return Verdict::kClear;
}

/// Head and tail of the whole sequence are not those of each document.
bool cutsDocuments(const Case& c) {
  const PlanOracle& right = c.oracles.front();
  Plan plan = right.plan();
  plan.dealing = Dealing::kHeadTail;
  const PlanOracle used(plan);
  for (int rank = 0; rank < plan.cp; ++rank)
    if (used.own(rank) != right.own(rank)) return true;
  return false;
}

}  // namespace

std::optional<Verdict> injectedVerdict(const Case& c, const std::string& rule) {
  if (rule != c.mistake) return std::nullopt;
  static const std::set<std::string> kOfPairs = {"ring_bypassed",     "positions_read_as_documents",
                                                 "mask_dropped",      "no_skip_future_block",
                                                 "documents_ignored", "padding_unmasked"};
  if (kOfPairs.contains(rule)) return ofPairs(c);
  if (rule == "causal_on_every_block") return cutsPairs(c) ? Verdict::kFound : Verdict::kClear;
  if (rule == "balance_cuts_documents") return cutsDocuments(c) ? Verdict::kFound : Verdict::kClear;
  // It does where sums are large enough, or rows have few enough keys.
  if (rule == "lse_overflow" || rule == "dropout_rng_reused") return std::nullopt;
  if (rule == "lse_low_precision" && !hasEnoughSums(c)) return std::nullopt;
  if (rule == "naive_sum_merge" && !mergesBlocks(c)) return std::nullopt;
  if (rule == "local_delta_in_backward" && !mergesBlocksOfTargets(c)) return std::nullopt;
  // Labels that are left out elsewhere too may be so at the ends of shards by right.
  if (rule == "shift_labels_per_shard" && c.ignores_labels && !movesLabels(c)) return std::nullopt;
  // With few tokens, the dq of merged sums and the dq of single blocks can differ by less than
  // 16-bit types resolve.
  const Plan& plan = c.oracles.front().plan();
  if (rule == "local_delta_in_backward" && plan.element_bytes == 2 && plan.length < 16)
    return std::nullopt;
  // Factors of the ranks may fit in several ways.
  if (rule == "clip_before_reduce") return std::nullopt;
  const bool of_loss =
      rule == "mean_of_local_means" || rule == "metric_not_reduced" || rule == "loss_scaled_by_cp";
  if (rule == "positions_not_reset_per_document" && (c.cp == 1 || !hasBorders(c)))
    return std::nullopt;
  if (of_loss && !changesTheLoss(c)) return std::nullopt;
  return Verdict::kFound;
}

}  // namespace ringscope::facts
