// SPDX-License-Identifier: Apache-2.0
// The ranks of a dp group hold the same part of different sequences. That they are the same in one
// step may be chance, or all that there is to learn; so it takes two steps in a row with different
// ones, wherever in the run they are.
#include <map>
#include <set>
#include <vector>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The hash of each rank's token ids.
using Batch = std::map<WorldRank, std::uint64_t>;
using Batches = std::map<std::int32_t, Batch>;  ///< by training step

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

Step compare(const Trace& trace, const Batch& of_rank) {
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

/// Steps in a row in which all dp ranks have the same.
struct Streak {
  std::vector<std::int32_t> steps;
  std::set<Batch> different;
  int pairs = 0;

  bool tells() const { return different.size() > 1; }
};

Finding finding(const Streak& streak) {
  Finding f;
  f.rule = "same_batch_on_dp_ranks";
  f.severity = "error";
  f.confidence = "likely";
  f.title = "All dp ranks read the same batch";
  f.place = {streak.steps.front()};
  f.buffer = "input_ids";
  f.evidence = "In each of " + std::to_string(streak.steps.size()) + " training steps, " +
               std::to_string(streak.steps.front()) + " to " + std::to_string(streak.steps.back()) +
               ", the ranks that should hold other sequences hold the same token ids (" +
               describeCount(streak.pairs, "pair") + "), though " +
               std::to_string(streak.different.size()) +
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
  bool compared = false, any_alike = false;
  Streak streak;
  for (const auto& [train_step, of_rank] : batchesOf(trace)) {
    const Step step = compare(trace, of_rank);
    if (step.pairs == 0) continue;
    compared = true;
    if (step.alike < step.pairs) {
      if (streak.tells()) break;
      streak = {};
      continue;
    }
    any_alike = true;
    streak.steps.push_back(train_step);
    streak.different.insert(of_rank);
    streak.pairs = step.pairs;
  }
  if (!compared) return notObservable("needs the token ids of several dp ranks, and their groups");
  if (streak.tells()) return found(finding(streak));
  if (!any_alike) return clear();
  return undecided(
      "needs two training steps in a row with different batches; in one, dp ranks may have the "
      "same by right, as where there is only one to learn");
}

}  // namespace ringscope::traces
