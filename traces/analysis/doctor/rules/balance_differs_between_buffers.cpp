// SPDX-License-Identifier: Apache-2.0
// Compares which tokens each rank has of one buffer with those that it has of the others.
#include <map>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"

namespace ringscope::traces {
namespace {

/// Of the dimension that was cut.
std::int64_t lengthOf(const ShardRecord& shard) {
  const auto dim = static_cast<std::size_t>(shard.seq_dim);
  return shard.seq_dim >= 0 && dim < shard.local_shape.size() ? shard.local_shape[dim] : 0;
}

/// Nothing where the runs are not of as many tokens as the shard has.
std::vector<TokenIndex> allTokens(const ShardRecord& shard) {
  const auto length = static_cast<std::size_t>(lengthOf(shard));
  std::vector<TokenIndex> tokens = tokensOf(shard, length + 1);
  if (tokens.size() != length) tokens.clear();
  return tokens;
}

Finding finding(const ShardRecord& tokens, const std::vector<TokenIndex>& of_first,
                const ShardRecord& other, const std::vector<TokenIndex>& of_other) {
  std::size_t i = 0;
  while (i + 1 < of_first.size() && of_first[i] == of_other[i]) ++i;
  Finding f;
  f.rule = "balance_differs_between_buffers";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Buffers are dealt to the ranks in different ways";
  f.place = {other.train_step};
  f.rank = other.rank;
  f.buffer = other.buffer;
  f.evidence = "Row " + std::to_string(i) + " of the rank's shard is token " +
               toString(of_first[i]) + " in " + tokens.buffer + " and token " +
               toString(of_other[i]) + " in " + other.buffer + ".";
  f.remedy =
      "Cut all buffers in one call with one load balance: context_parallel(buffers=[input_ids, "
      "labels, position_ids], …); what is made elsewhere must be rearranged alike.";
  return f;
}

}  // namespace

RuleResult checkBalanceDiffersBetweenBuffers(const Trace& trace) {
  std::map<std::pair<std::int32_t, WorldRank>, std::vector<const ShardRecord*>> by_rank;
  for (const ShardRecord& shard : trace.shards())
    if (shard.sharded && !shard.global_from_local.empty() && lengthOf(shard) > 0)
      by_rank[{shard.train_step, shard.rank}].push_back(&shard);
  bool compared = false;
  for (const auto& [rank, shards] : by_rank) {
    const ShardRecord& first = *shards.front();
    const auto of_first = allTokens(first);
    if (of_first.empty()) continue;
    for (const ShardRecord* shard : shards) {
      if (shard == &first || lengthOf(first) != lengthOf(*shard)) continue;
      // The tokens themselves and not their runs, which may be parted in several ways.
      const auto of_other = allTokens(*shard);
      if (of_other.empty()) continue;
      compared = true;
      if (of_first != of_other) return found(finding(first, of_first, *shard, of_other));
    }
  }
  return compared ? clear() : notObservable("needs to know which tokens of two buffers a rank has");
}

}  // namespace ringscope::traces
