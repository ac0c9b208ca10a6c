// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/sequence_tokens.h"

namespace ringscope::traces {
namespace {

std::vector<double> bufferOf(const Trace& trace, const char* name, std::int32_t train_step,
                             WorldRank rank) {
  const TensorRecord* tensor = trace.findTensor({TensorKind::kBuffer, name}, {train_step}, rank);
  if (!tensor) return {};
  return trace.values(*tensor).value_or(std::vector<double>());
}

}  // namespace

std::vector<TokenIndex> tokensIn(const ShardRecord& shard, std::size_t most) {
  std::vector<TokenIndex> tokens;
  for (const TokenRun& run : shard.global_from_local)
    for (std::int64_t g = run.begin; g < run.end && tokens.size() < most; ++g)
      tokens.push_back(TokenIndex::of(g));
  return tokens;
}

std::optional<SequenceTokens> SequenceTokens::of(const Trace& trace, std::int32_t train_step,
                                                 const std::vector<WorldRank>& members) {
  return read(trace, train_step, members, true);
}

std::optional<SequenceTokens> SequenceTokens::withoutLabels(const Trace& trace,
                                                            std::int32_t train_step,
                                                            const std::vector<WorldRank>& members) {
  return read(trace, train_step, members, false);
}

std::optional<SequenceTokens> SequenceTokens::read(const Trace& trace, std::int32_t train_step,
                                                   const std::vector<WorldRank>& members,
                                                   bool labels) {
  SequenceTokens all;
  for (const WorldRank rank : members) {
    RankTokens own;
    own.rank = rank;
    own.ids = bufferOf(trace, "input_ids", train_step, rank);
    if (labels) own.labels = bufferOf(trace, "labels", train_step, rank);
    const ShardRecord* shard = trace.findShard("input_ids", train_step, rank);
    if (shard) own.tokens = tokensIn(*shard, own.ids.size() + 1);
    const bool fits = !own.tokens.empty() && (!labels || own.ids.size() == own.labels.size()) &&
                      own.ids.size() % own.tokens.size() == 0 && own.rows() > 0 &&
                      (all.ranks_.empty() || own.rows() == all.ranks_.front().rows());
    all.complete_ = all.complete_ && fits;
    if (!fits) continue;
    for (std::size_t i = 0; i < own.tokens.size(); ++i)
      if (!all.index_.try_emplace(own.tokens[i], all.ranks_.size(), i).second)
        return std::nullopt;  // two ranks have the token, so they do not share a sequence
    all.ranks_.push_back(std::move(own));
  }
  if (all.ranks_.empty()) return std::nullopt;
  return all;
}

SequenceTokens::At SequenceTokens::find(TokenIndex token) const {
  const auto found = index_.find(token);
  if (found == index_.end()) return {};
  return {&ranks_[found->second.first], found->second.second};
}
std::optional<double> SequenceTokens::id(TokenIndex token, std::size_t row) const {
  const At at = find(token);
  return at.rank ? std::optional(at.rank->id(row, at.local)) : std::nullopt;
}
std::optional<double> SequenceTokens::label(TokenIndex token, std::size_t row) const {
  const At at = find(token);
  return at.rank ? std::optional(at.rank->label(row, at.local)) : std::nullopt;
}

}  // namespace ringscope::traces
