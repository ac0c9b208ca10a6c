// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/target_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// The weight of one target and the number of targets, of a call in a microbatch of a rank.
struct Weighed {
  WorldRank rank;
  std::int32_t microbatch = 0;
  double weight = 0, targets = 0;
  std::int64_t tokens = 0;
};

/// Reports whether all numbers are equal up to this share of the largest.
bool areEqual(const std::vector<double>& numbers, double share) {
  const auto [least, most] = std::ranges::minmax(numbers);
  return most - least <= share * std::abs(most);
}

/// Reports whether a call has one weight for all of its targets.
bool hasOneWeight(const CalledLoss& call) {
  if (!call.weights || call.weighted || !(call.weights->mean > 0) ||
      !(call.weights->off <= roundingShare(call.dtype)))
    return false;
  return !call.picked ||
         areEqual({call.weights->least, call.weights->most}, 4 * roundingShare(call.dtype));
}

/// Returns the weights in a cp group, each of a call; none when one is unknown or is no cross
/// entropy's.
std::vector<Weighed> weighedIn(const Trace& trace, std::int32_t train_step,
                               const std::vector<WorldRank>& members, double& share) {
  std::vector<Weighed> all;
  for (const WorldRank rank : members) {
    if (tpRanks(trace, rank).front() != rank) continue;
    for (const CalledLoss& call : calledLosses(trace, train_step, rank)) {
      if (call.targets == 0) continue;
      share = std::max(share, 4 * roundingShare(call.dtype));
      if (!hasOneWeight(call)) return {};
      all.push_back({rank, call.microbatch, call.weights->mean, static_cast<double>(call.targets),
                     call.tokens});
    }
  }
  return all;
}

/// Returns one weight for each rank and microbatch; none when a rank's calls weigh differently.
std::vector<Weighed> joined(const std::vector<Weighed>& calls, double share) {
  std::vector<Weighed> all;
  for (const Weighed& call : calls) {
    const auto same = std::ranges::find_if(all, [&](const Weighed& one) {
      return one.rank == call.rank && one.microbatch == call.microbatch;
    });
    if (same == all.end()) {
      all.push_back(call);
      continue;
    }
    if (!areEqual({same->weight, call.weight}, share)) return {};
    same->targets += call.targets;
  }
  return all;
}

/// Reports whether calls are parts of equal length of one sequence: documents have many lengths,
/// and further entries of a batch may be meant to have means of their own.
bool areChunks(const Trace& trace, std::int32_t train_step, const std::vector<Weighed>& calls) {
  return std::ranges::all_of(calls, [&](const Weighed& call) {
    const ShardRecord* shard = trace.findShard("input_ids", train_step, call.rank);
    return shard && shard->local_shape.size() == 2 && shard->local_shape.front() == 1 &&
           call.tokens == calls.front().tokens && call.tokens < shard->local_shape.back();
  });
}

std::string words(const Weighed& one, bool microbatches) {
  return describeSignificant(one.weight, 4) + " on rank " + toString(one.rank) +
         (microbatches ? " in microbatch " + std::to_string(one.microbatch) : "") + ", which has " +
         describeCount(static_cast<std::int64_t>(one.targets), "target");
}

/// Judges chunks: the weight times the number of a chunk's own targets is the same in all of them.
TargetWeights judgeChunks(const std::vector<Weighed>& calls, double share) {
  TargetWeights reading;
  std::vector<double> by_call;
  by_call.reserve(calls.size());
  for (const Weighed& one : calls) by_call.push_back(one.weight * one.targets);
  if (!areEqual(by_call, share)) return reading;
  reading.are = TargetsWeigh::kByChunkCount;
  const auto [least, most] = std::ranges::minmax(calls, {}, &Weighed::weight);
  reading.rank = most.rank;
  reading.evidence = "In the gradient of the logits one target weighs " + words(most, false) +
                     " in one chunk, and " + words(least, false) +
                     " in another. The weight times the number of targets is the same in every "
                     "chunk.";
  return reading;
}

TargetWeights judge(const std::vector<Weighed>& all, double share) {
  TargetWeights reading;
  std::map<std::int32_t, double> targets;
  for (const Weighed& one : all) targets[one.microbatch] += one.targets;
  std::vector<double> weights, by_rank, by_microbatch;
  for (const Weighed& one : all) {
    weights.push_back(one.weight);
    by_rank.push_back(one.weight * one.targets);
    by_microbatch.push_back(one.weight * targets[one.microbatch]);
  }
  if (areEqual(weights, share)) {
    reading.are = TargetsWeigh::kAlike;
    return reading;
  }
  // With as many targets on every rank, the weights of both are alike.
  const bool of_microbatches = targets.size() > 1 && areEqual(by_microbatch, share),
             of_ranks = !of_microbatches && areEqual(by_rank, share);
  if (!of_ranks && !of_microbatches) return reading;
  reading.are = of_ranks ? TargetsWeigh::kByRankCount : TargetsWeigh::kByMicrobatchCount;
  const auto [least, most] = std::ranges::minmax(all, {}, &Weighed::weight);
  reading.rank = most.rank;
  reading.evidence =
      "In the gradient of the logits one target weighs " + words(most, targets.size() > 1) +
      ", and " + words(least, targets.size() > 1) + ". The weight times the number of targets " +
      (of_ranks ? "is the same on every rank." : "of all ranks is the same in every microbatch.");
  return reading;
}

/// The targets of one batch entry on each rank of a group, in one microbatch.
using EntryOnRanks = std::vector<Weighed>;

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
        const bool one = areEqual({entry.least, entry.most}, 4 * roundingShare(call.dtype));
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

/// Judges the targets of single sequences: on every rank they must weigh the same.
TargetWeights judgeEntries(const std::vector<EntryOnRanks>& entries, double share) {
  TargetWeights reading;
  for (const EntryOnRanks& ranks : entries) {
    std::vector<double> weights, by_rank;
    for (const Weighed& one : ranks) {
      weights.push_back(one.weight);
      by_rank.push_back(one.weight * one.targets);
    }
    if (areEqual(weights, share)) continue;
    reading.are = areEqual(by_rank, share) ? TargetsWeigh::kByRankCount : TargetsWeigh::kByRank;
    const auto size = [](const Weighed& one) { return std::abs(one.weight); };
    const auto [least, most] = std::ranges::minmax(ranks, {}, size);
    reading.rank = most.rank;
    reading.evidence = "In the gradient of the logits one target of a sequence weighs " +
                       words(most, false) + " of it, and " + words(least, false) + ".";
    if (reading.are == TargetsWeigh::kByRankCount)
      reading.evidence += " The weight times the number of targets is the same on every rank.";
    return reading;
  }
  return reading;
}

std::set<std::int32_t> trainSteps(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors()) steps.insert(tensor.place.train_step);
  return steps;
}

}  // namespace

TargetWeights readTargetWeights(const Trace& trace) {
  TargetWeights known;
  for (const std::int32_t train_step : trainSteps(trace))
    for (const auto& members : sequenceGroups(trace)) {
      double share = 0;
      const auto entries = entriesIn(trace, train_step, members, share);
      TargetWeights of_entries = judgeEntries(entries, share);
      of_entries.train_step = train_step;
      if (of_entries.are != TargetsWeigh::kUnknown) return of_entries;
      const std::vector<Weighed> calls = weighedIn(trace, train_step, members, share);
      const auto other = [&](const Weighed& one) { return one.rank != calls.front().rank; };
      if (std::ranges::none_of(calls, other)) continue;
      const std::vector<Weighed> all = joined(calls, share);
      if (all.empty() && !areChunks(trace, train_step, calls)) continue;
      TargetWeights reading = all.empty() ? judgeChunks(calls, share) : judge(all, share);
      reading.train_step = train_step;
      if (reading.are != TargetsWeigh::kAlike) return reading;
      known = std::move(reading);
    }
  return known;
}

namespace {

RuleResult foundMeans(const TargetWeights& weights, const char* title, const char* remedy) {
  return found(
      {.confidence = Confidence::kLikely,
       .title = title,
       .place = {weights.train_step},
       .rank = weights.rank,
       .buffer = "loss",
       .evidence = weights.evidence + " This assumes that every target is meant to weigh the same.",
       .remedy = remedy});
}

}  // namespace

RuleResult answerFrom(const TargetWeights& weights, RuleResult otherwise) {
  if (otherwise.verdict == Verdict::kFound || weights.are == TargetsWeigh::kUnknown)
    return otherwise;
  if (weights.are == TargetsWeigh::kAlike)
    return otherwise.verdict == Verdict::kNotObservable ? clear() : otherwise;
  if (weights.are == TargetsWeigh::kByMicrobatchCount)
    return undecided("needs targets that weigh the same in every microbatch");
  if (weights.are == TargetsWeigh::kByRank)
    return foundMeans(
        weights, "The tokens of one sequence weigh otherwise on each rank",
        "Sum a sequence's log-probabilities, and the number of its tokens, over the "
        "cp ranks before anything else is computed of them, such as a ratio, a mean or a sigmoid.");
  if (weights.are == TargetsWeigh::kByChunkCount)
    return undecided("needs targets that weigh the same in every chunk");
  return foundMeans(
      weights, "The loss is a mean of the ranks' own means",
      "Sum the losses of all ranks and the numbers of their targets, and divide one by the other: "
      "loss_sum / targets, not loss.mean() on each rank.");
}

RuleResult answerAboutMicrobatches(const TargetWeights& weights) {
  switch (weights.are) {
    case TargetsWeigh::kAlike:
      return clear();
    case TargetsWeigh::kByRankCount:
    case TargetsWeigh::kByRank:
      return undecided("needs targets that weigh the same on every rank");
    case TargetsWeigh::kUnknown:
      return notObservable("needs the gradients of the logits of a cross entropy");
    case TargetsWeigh::kByChunkCount:
      return foundMeans(
          weights, "The loss is a mean of the means of chunks",
          "Sum the losses of all chunks, and divide by the number of targets of the step, over "
          "dp×cp as well: a chunk with few targets must not count as much as a full one.");
    default:
      return foundMeans(
          weights, "The loss is a mean of the means of microbatches",
          "Count the targets of all microbatches of the step first, over dp×cp as well, and divide "
          "each microbatch's sum by that number: loss_sum / targets_of_the_step.");
  }
}

}  // namespace ringscope::traces
