// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/own_tokens.h"

#include <iterator>

namespace ringscope::traces {

namespace {

/// Returns the tokens of a shard in local order if there are `count` of them, or else none.
std::vector<TokenIndex> tokensOf(const ShardRecord& shard, std::int64_t count) {
  std::vector<TokenIndex> tokens;
  for (const TokenRun& run : shard.global_from_local) {
    if (run.end - run.begin > count - std::ssize(tokens)) return {};
    for (std::int64_t g = run.begin; g < run.end; ++g) tokens.push_back(TokenIndex::of(g));
  }
  if (std::ssize(tokens) != count) tokens.clear();
  return tokens;
}

}  // namespace

std::vector<TokenIndex> ownTokens(const Trace& trace, std::int32_t train_step, WorldRank rank,
                                  std::int64_t queries, std::optional<std::int32_t> microbatch) {
  if (microbatch)
    for (const ShardRecord* shard : trace.findMicrobatchShards({train_step, *microbatch}, rank))
      if (auto tokens = tokensOf(*shard, queries); !tokens.empty()) return tokens;
  for (const ShardRecord& shard : trace.shards()) {
    if (shard.rank != rank || shard.train_step != train_step) continue;
    if (auto tokens = tokensOf(shard, queries); !tokens.empty()) return tokens;
  }
  return {};
}

std::vector<TokenIndex> attendedTokens(const ScheduleRecord& schedule, std::size_t most) {
  std::vector<TokenIndex> tokens;
  for (const ShardRun& run : schedule.rows)
    for (std::int64_t i = 0; i < run.count && tokens.size() < most; ++i)
      tokens.push_back(TokenIndex::of(run.global(i)));
  return tokens;
}

}  // namespace ringscope::traces
