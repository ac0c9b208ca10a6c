// SPDX-License-Identifier: Apache-2.0
// The tokens of the ranks that share a sequence, put together, are the sequence.
#include <algorithm>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// The shards of a group's ranks at one training step.
struct GroupShards {
  std::vector<const ShardRecord*> shards;
  std::int64_t length = 0;  ///< of the sequence; 0: not known
  bool complete = true;
};

GroupShards shardsOf(const Trace& trace, const char* buffer, std::int32_t train_step,
                     const std::vector<WorldRank>& members) {
  GroupShards all;
  for (const WorldRank rank : members) {
    const ShardRecord* shard = trace.findShard(buffer, train_step, rank);
    if (!shard || !shard->sharded || shard->global_from_local.empty()) {
      all.complete = false;
      continue;
    }
    all.shards.push_back(shard);
    const auto dim = static_cast<std::size_t>(shard->seq_dim);
    if (shard->seq_dim >= 0 && dim < shard->full_shape.size()) all.length = shard->full_shape[dim];
  }
  return all;
}

enum class Cover { kWhole, kLost, kRepeated };

/// Whether the runs of all ranks are the sequence; `lost`: the first tokens that are nobody's.
Cover coverOf(const GroupShards& of, TokenRun& lost) {
  std::vector<TokenRun> runs;
  for (const ShardRecord* shard : of.shards)
    for (const TokenRun& run : shard->global_from_local)
      if (run.end > run.begin) runs.push_back(run);
  std::ranges::sort(runs, {}, &TokenRun::begin);
  std::int64_t next = 0;
  for (const TokenRun& run : runs) {
    if (run.begin < next) return Cover::kRepeated;
    if (run.begin > next) {
      lost = {next, run.begin};
      return Cover::kLost;
    }
    next = run.end;
  }
  lost = {next, of.length};
  return next < of.length ? Cover::kLost : Cover::kWhole;
}

Finding finding(const GroupShards& of, const TokenRun& lost) {
  const ShardRecord& first = *of.shards.front();
  const auto ranks = std::ssize(of.shards);
  Finding f;
  f.rule = "uneven_shards";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Some tokens are on no rank";
  f.place = {first.train_step};
  f.buffer = first.buffer;
  f.evidence = "The sequence has " + describeCount(of.length, "token") + ", and " +
               (lost.end - lost.begin == 1 ? "token " + std::to_string(lost.begin) + " is"
                                           : "tokens " + std::to_string(lost.begin) + " to " +
                                                 std::to_string(lost.end - 1) + " are") +
               " on none of its " + std::to_string(ranks) + " ranks.";
  f.remedy =
      "Pad the sequence to a multiple of the number of ranks, or of twice that for a head-tail "
      "balance, before it is cut, and mask the padding; lengths that are rounded down lose the "
      "rest.";
  return f;
}

}  // namespace

RuleResult checkUnevenShards(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false, repeated = false, part_only = false;
  for (const auto& members : sequenceGroups(trace))
    for (const char* buffer : {"input_ids", "q"})
      for (const ShardRecord& one : trace.shards()) {
        if (one.buffer != buffer || members.empty() || one.rank != members.front()) continue;
        const GroupShards of = shardsOf(trace, buffer, one.train_step, members);
        part_only = part_only || !of.complete;
        if (!of.complete || of.length == 0) continue;
        TokenRun lost;
        const Cover cover = coverOf(of, lost);
        if (cover == Cover::kLost) return found(finding(of, lost));
        repeated = repeated || cover == Cover::kRepeated;
        compared = compared || cover == Cover::kWhole;
      }
  if (repeated) return undecided("needs tokens that are on one rank each");
  if (compared) return clear();
  return notObservable(part_only ? "needs the tokens of all ranks that share a sequence; join the "
                                   "files of all ranks with ringscope merge"
                                 : "needs which tokens each rank has");
}

}  // namespace ringscope::traces
