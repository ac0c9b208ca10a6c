// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/entry_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "traces/analysis/doctor/own_documents.h"
#include "traces/analysis/doctor/weighed_targets.h"
#include "traces/analysis/verify/recompute/step_loss.h"

namespace ringscope::traces {
namespace {

/// The targets of one batch entry on each rank of a group, in one microbatch.
using EntryOnRanks = std::vector<Weighed>;

/// Reports whether a rank's cross entropies in each microbatch are one per batch entry, each of all
/// tokens that the rank has of it. One entry alone is judged with those of other microbatches.
bool areOfEntries(const Trace& trace, std::int32_t train_step, WorldRank rank,
                  const std::vector<CalledLoss>& calls) {
  const ShardRecord* shard = trace.findShard("input_ids", train_step, rank);
  if (!shard || shard->local_shape.size() != 2 || shard->local_shape.front() < 2) return false;
  std::map<std::int32_t, std::int64_t> count;
  for (const CalledLoss& call : calls) {
    if (call.picked || call.tokens != shard->local_shape.back() ||
        (call.targets > 0 && !hasOneWeight(call)))
      return false;
    ++count[call.microbatch];
  }
  return !count.empty() && std::ranges::all_of(count, [&](const auto& of_microbatch) {
    return of_microbatch.second == shard->local_shape.front();
  });
}

/// Returns the batch entries of which each rank has one cross entropy.
std::vector<EntryOnRanks> entriesOfCalls(const Trace& trace, std::int32_t train_step,
                                         const std::vector<WorldRank>& members, double& share) {
  std::map<std::pair<std::int32_t, std::size_t>, EntryOnRanks> all;
  for (const WorldRank rank : members) {
    const auto calls = calledLosses(trace, train_step, rank);
    if (!areOfEntries(trace, train_step, rank, calls)) return {};
    std::map<std::int32_t, std::size_t> next;
    for (const CalledLoss& call : calls) {
      const std::size_t entry = next[call.microbatch]++;
      if (call.targets == 0) continue;
      share = std::max(share, 4 * roundingShare(call.dtype));
      all[{call.microbatch, entry}].push_back({rank, call.microbatch, call.weights->mean,
                                               static_cast<double>(call.targets), call.tokens});
    }
  }
  std::vector<EntryOnRanks> known;
  for (auto& [place, ranks] : all)
    if (ranks.size() > 1) known.push_back(std::move(ranks));
  return known;
}

/// Returns the entries whose targets have one weight on each rank that has some; only those of
/// log-probabilities that all ranks pick once.
std::vector<EntryOnRanks> entriesIn(const Trace& trace, std::int32_t train_step,
                                    const std::vector<WorldRank>& members, double& share) {
  std::map<std::pair<std::int32_t, std::size_t>, EntryOnRanks> all;
  std::set<std::pair<WorldRank, std::int32_t>> seen;
  for (const WorldRank rank : members)
    for (const CalledLoss& call : calledLosses(trace, train_step, rank)) {
      if (!seen.emplace(rank, call.microbatch).second || !call.picked || !call.weights ||
          !(call.weights->off <= roundingShare(call.dtype)))
        return {};
      share = std::max(share, 4 * roundingShare(call.dtype));
      for (std::size_t at = 0; at < call.entries.size(); ++at) {
        const CalledLoss::Entry& entry = call.entries[at];
        if (entry.targets == 0) continue;
        const bool one = areNear({entry.least, entry.most}, 4 * roundingShare(call.dtype));
        all[{call.microbatch, at}].push_back({rank, call.microbatch,
                                              one ? entry.most : std::nan(""),
                                              static_cast<double>(entry.targets), call.tokens});
      }
    }
  std::vector<EntryOnRanks> known;
  for (auto& [place, ranks] : all)
    if (ranks.size() > 1 &&
        std::ranges::none_of(ranks, [](const Weighed& one) { return std::isnan(one.weight); }))
      known.push_back(std::move(ranks));
  return known;
}

/// Reports whether two entries weigh oppositely on each of several ranks, as the sequences of a
/// pair do in a loss of preferences.
bool areOpposite(const EntryOnRanks& a, const EntryOnRanks& b, double share) {
  std::size_t ranks = 0;
  for (const Weighed& one : a)
    for (const Weighed& other : b) {
      if (one.rank != other.rank || one.microbatch != other.microbatch) continue;
      if (one.weight * other.weight > 0 ||
          !areNear({std::abs(one.weight), std::abs(other.weight)}, share))
        return false;
      ++ranks;
    }
  return ranks > 1;
}

/// Judges the targets of single sequences: on every rank they must weigh the same.
TargetWeights judgeEntries(const std::vector<EntryOnRanks>& entries, double share) {
  TargetWeights reading;
  for (const EntryOnRanks& ranks : entries) {
    std::vector<double> weights, by_rank;
    for (const Weighed& one : ranks) {
      weights.push_back(one.weight);
      by_rank.push_back(one.weight * one.targets);
    }
    const bool by_count = areNear(by_rank, share);
    // Parts of a sequence may weigh by what they are, such as the turns of a dialogue.
    const bool of_pair = std::ranges::any_of(
        entries, [&](const EntryOnRanks& other) { return areOpposite(ranks, other, share); });
    if (areNear(weights, share) || (!by_count && !of_pair)) continue;
    reading.are = by_count ? TargetsWeigh::kByRankCount : TargetsWeigh::kByRank;
    const auto size = [](const Weighed& one) { return std::abs(one.weight); };
    const auto [least, most] = std::ranges::minmax(ranks, {}, size);
    reading.rank = most.rank;
    reading.evidence = "In the gradient of the logits one target of a sequence weighs " +
                       describeWeight(most, false) + " of it, and " + describeWeight(least, false) +
                       ".";
    if (reading.are == TargetsWeigh::kByRankCount)
      reading.evidence += " The weight times the number of targets is the same on every rank.";
    return reading;
  }
  return reading;
}

}  // namespace

TargetWeights readEntryWeights(const Trace& trace, std::int32_t train_step,
                               const std::vector<WorldRank>& members) {
  if (mayHaveOwnDocuments(trace, train_step, members)) return {};
  double share = 0;
  auto entries = entriesIn(trace, train_step, members, share);
  if (entries.empty()) entries = entriesOfCalls(trace, train_step, members, share);
  TargetWeights reading = judgeEntries(entries, share);
  reading.train_step = train_step;
  return reading;
}

}  // namespace ringscope::traces
