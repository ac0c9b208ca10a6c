// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/target_weights.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "traces/analysis/doctor/entry_weights.h"
#include "traces/analysis/doctor/own_documents.h"
#include "traces/analysis/doctor/weighed_targets.h"
#include "traces/analysis/verify/recompute/step_loss.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

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
    if (!areNear({same->weight, call.weight}, share)) return {};
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

/// Judges chunks: the weight times the number of a chunk's own targets is the same in all of them.
TargetWeights judgeChunks(const std::vector<Weighed>& calls, double share) {
  TargetWeights reading;
  std::vector<double> by_call;
  by_call.reserve(calls.size());
  for (const Weighed& one : calls) by_call.push_back(one.weight * one.targets);
  if (!areNear(by_call, share)) return reading;
  reading.are = TargetsWeigh::kByChunkCount;
  const auto [least, most] = std::ranges::minmax(calls, {}, &Weighed::weight);
  reading.rank = most.rank;
  reading.evidence = "In the gradient of the logits one target weighs " +
                     describeWeight(most, false) + " in one chunk, and " +
                     describeWeight(least, false) +
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
  if (areNear(weights, share)) {
    reading.are = TargetsWeigh::kAlike;
    return reading;
  }
  // With as many targets on every rank, the weights of both are alike.
  const bool of_microbatches = targets.size() > 1 && areNear(by_microbatch, share),
             of_ranks = !of_microbatches && areNear(by_rank, share);
  if (!of_ranks && !of_microbatches) return reading;
  reading.are = of_ranks ? TargetsWeigh::kByRankCount : TargetsWeigh::kByMicrobatchCount;
  const auto [least, most] = std::ranges::minmax(all, {}, &Weighed::weight);
  reading.rank = most.rank;
  reading.evidence =
      "In the gradient of the logits one target weighs " +
      describeWeight(most, targets.size() > 1) + ", and " +
      describeWeight(least, targets.size() > 1) + ". The weight times the number of targets " +
      (of_ranks ? "is the same on every rank." : "of all ranks is the same in every microbatch.");
  return reading;
}

}  // namespace

TargetWeights readTargetWeights(const Trace& trace) {
  TargetWeights known;
  if (lacksGroups(trace)) return known;  // ranks may have sequences of their own
  for (const std::int32_t train_step : stepsWithTensors(trace))
    for (const auto& members : sequenceGroups(trace)) {
      TargetWeights of_entries = readEntryWeights(trace, train_step, members);
      if (of_entries.are != TargetsWeigh::kUnknown) return of_entries;
      double share = 0;
      const std::vector<Weighed> calls = weighedIn(trace, train_step, members, share);
      const auto other = [&](const Weighed& one) { return one.rank != calls.front().rank; };
      if (std::ranges::none_of(calls, other)) continue;
      const std::vector<Weighed> all = joined(calls, share);
      if (all.empty() && !areChunks(trace, train_step, calls)) continue;
      TargetWeights reading = all.empty() ? judgeChunks(calls, share) : judge(all, share);
      if (reading.are == TargetsWeigh::kByRankCount &&
          mayHaveOwnDocuments(trace, train_step, members))
        continue;  // each rank may have documents of its own, and their means
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
