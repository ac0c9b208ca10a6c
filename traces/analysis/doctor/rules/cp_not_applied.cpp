// SPDX-License-Identifier: Apache-2.0
// Ranks that share a sequence have a part of it each.
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Tokens of a rank, of as many of the sequence; 0 where that is not recorded.
struct Part {
  std::int64_t own = 0, all = 0;
};

Part partOf(const ShardRecord& shard) {
  const auto dim = static_cast<std::size_t>(shard.seq_dim);
  if (shard.seq_dim < 0 || dim >= shard.full_shape.size() || dim >= shard.local_shape.size())
    return {};
  return {shard.local_shape[dim], shard.full_shape[dim]};
}

Finding finding(const ShardRecord& shard, const Part& part, std::size_t whole, std::size_t ranks) {
  Finding f;
  f.rule = "cp_not_applied";
  f.severity = "warning";
  f.confidence = "certain";
  f.title = "The sequence stays whole on ranks that should share it";
  f.place = {shard.train_step};
  f.rank = shard.rank;
  f.buffer = shard.buffer;
  f.evidence = "Rank " + toString(shard.rank) + " holds all " + describeCount(part.all, "token") +
               " of a sequence that is configured for " + std::to_string(ranks) + " ranks, as do " +
               std::to_string(whole) + " of these " + std::to_string(ranks) +
               ": each does the work and needs the memory of the whole sequence, and the numbers "
               "are right nevertheless.";
  f.remedy =
      "Enter the context that shards the buffers (context_parallel, or the model's Ulysses or "
      "ring patch) around the step, and check that it patches this model: shapes of activations "
      "must fall with cp.";
  return f;
}

}  // namespace

RuleResult checkCpNotApplied(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  for (const ShardRecord& shard : trace.shards()) {
    const bool tokens = shard.buffer == "input_ids" || shard.buffer == "q";
    const GroupRecord* group = trace.groupOf(shard.rank, GroupAxis::kCp);
    const Part part = partOf(shard);
    if (!tokens || !shard.sharded || !group || group->members.size() < 2 || part.all < 2) continue;
    compared = true;
    if (part.own < part.all) continue;
    std::size_t whole = 0;
    for (const WorldRank rank : group->members) {
      const ShardRecord* other = trace.findShard(shard.buffer, shard.train_step, rank);
      if (other && partOf(*other).own >= part.all) ++whole;
    }
    return found(finding(shard, part, whole, group->members.size()));
  }
  return compared ? clear()
                  : notObservable("needs how the tokens of ranks were cut that share a sequence");
}

}  // namespace ringscope::traces
