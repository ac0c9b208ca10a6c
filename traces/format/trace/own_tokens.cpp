// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {

std::vector<TokenIndex> ownTokens(const Trace& trace, std::int32_t train_step, WorldRank rank,
                                  std::int64_t queries) {
  std::vector<TokenIndex> tokens;
  for (const ShardRecord& shard : trace.shards()) {
    if (shard.rank != rank || shard.train_step != train_step) continue;
    for (const TokenRun& run : shard.global_from_local) {
      if (run.end - run.begin > queries - static_cast<std::int64_t>(tokens.size())) return {};
      for (std::int64_t g = run.begin; g < run.end; ++g) tokens.push_back(TokenIndex::of(g));
    }
    if (static_cast<std::int64_t>(tokens.size()) == queries) return tokens;
    tokens.clear();
  }
  return tokens;
}

std::vector<TokenIndex> attendedTokens(const ScheduleRecord& schedule, std::size_t most) {
  std::vector<TokenIndex> tokens;
  for (const ShardRun& run : schedule.rows)
    for (std::int64_t i = 0; i < run.count && tokens.size() < most; ++i)
      tokens.push_back(TokenIndex::of(run.global(i)));
  return tokens;
}

}  // namespace ringscope::traces
