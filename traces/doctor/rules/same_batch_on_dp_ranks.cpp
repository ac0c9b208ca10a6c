// SPDX-License-Identifier: Apache-2.0
// The ranks of a dp group hold the same part of different sequences. That they are the same in one
// step may be chance, or all that there is to learn; so it takes two steps with different ones.
#include <map>
#include <set>
#include <tuple>

#include "traces/core/prose.h"
#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// The token ids of each rank: by training step and rank.
using Batches = std::map<std::int32_t, std::map<WorldRank, std::uint64_t>>;

Batches batchesOf(const Trace& trace) {
  Batches batches;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kBuffer, "input_ids"})
      batches[tensor.place.train_step][tensor.rank] = tensor.hash;
  return batches;
}

/// What one step says of all dp groups; nothing is compared where a rank is not known.
struct Step {
  int pairs = 0, alike = 0;
};

Step compare(const Trace& trace, const std::map<WorldRank, std::uint64_t>& of_rank) {
  Step step;
  for (const GroupRecord& group : trace.groups()) {
    if (group.axis != GroupAxis::kDp || group.members.size() < 2) continue;
    const auto first = of_rank.find(group.members.front());
    for (std::size_t i = 1; i < group.members.size(); ++i) {
      const auto other = of_rank.find(group.members[i]);
      if (first == of_rank.end() || other == of_rank.end()) continue;
      ++step.pairs;
      step.alike += first->second == other->second;
    }
  }
  return step;
}

Finding finding(std::int32_t train_step, int steps, std::size_t different, int pairs) {
  Finding f;
  f.rule = "same_batch_on_dp_ranks";
  f.severity = "error";
  f.confidence = "likely";
  f.title = "All dp ranks read the same batch";
  f.place = {train_step};
  f.buffer = "input_ids";
  f.evidence = "In each of " + std::to_string(steps) +
               " training steps the ranks that should hold other sequences hold the same token "
               "ids (" +
               describeCount(pairs, "pair") + "), though " + std::to_string(different) +
               " different batches are among them: the gradients of one batch are counted several "
               "times.";
  f.remedy =
      "Give the sampler the size and rank of dp (num_replicas=dp_size, rank=dp_rank) and call "
      "set_epoch, or cut the global batch by dp rank.";
  return f;
}

}  // namespace

RuleResult checkSameBatchOnDpRanks(const Trace& trace) {
  if (trace.run() && trace.run()->dp == 1) return clear();
  const Batches batches = batchesOf(trace);
  std::set<std::uint64_t> different;  // that the first rank had
  int pairs = 0, steps = 0;
  for (const auto& [train_step, of_rank] : batches) {
    const Step step = compare(trace, of_rank);
    if (step.alike < step.pairs) return clear();
    if (step.pairs == 0) continue;
    pairs = step.pairs;
    ++steps;
    different.insert(of_rank.begin()->second);
  }
  if (pairs == 0) return notObservable("needs the token ids of several dp ranks, and their groups");
  if (different.size() < 2)
    return undecided(
        "needs two training steps with different batches; in one, dp ranks may have the same by "
        "right, as where there is only one to learn");
  return found(finding(batches.begin()->first, steps, different.size(), pairs));
}

}  // namespace ringscope::traces
