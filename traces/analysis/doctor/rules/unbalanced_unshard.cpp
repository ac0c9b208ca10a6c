// SPDX-License-Identifier: Apache-2.0
// Compares the tokens that a rank has with those that attention takes its rows for, and with the
// balance that was declared.
#include <algorithm>
#include <utility>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {
namespace {

Finding finding(const ShardRecord& shard, const char* confidence, std::string evidence) {
  Finding f;
  f.rule = "unbalanced_unshard";
  f.severity = "error";
  f.confidence = confidence;
  f.title = "The ranks' tokens are not those that attention takes them for";
  f.place = {shard.train_step};
  f.rank = shard.rank;
  f.buffer = shard.buffer;
  f.evidence = std::move(evidence);
  f.remedy =
      "Rearrange every buffer by the load balance before it is cut, with the same sizes that "
      "attention is given, and undo it when shards are gathered; or turn the balance off in both.";
  return f;
}

/// Dealt as equal parts in a row.
bool isOneRun(const std::vector<TokenIndex>& tokens) {
  for (std::size_t i = 1; i < tokens.size(); ++i)
    if (tokens[i] != tokens[i - 1].next()) return false;
  return tokens.size() > 1;
}

/// How each rank's tokens were cut, by training step and rank.
std::vector<const ShardRecord*> tokenShards(const Trace& trace) {
  std::vector<const ShardRecord*> all;
  for (const ShardRecord& shard : trace.shards())
    if ((shard.buffer == "input_ids" || shard.buffer == "q") && shard.sharded)
      all.push_back(&shard);
  std::ranges::stable_sort(
      all, {}, [](const ShardRecord* shard) { return std::pair(shard->train_step, shard->rank); });
  return all;
}

enum class Fit { kUnknown, kFits, kDoesNot };

/// The rows of a rank that shares heads with nobody are its own.
Fit fitsRows(const Trace& trace, const ShardRecord& shard, const std::vector<TokenIndex>& tokens,
             RuleResult& result) {
  const ScheduleRecord* schedule =
      trace.schedule(shard.train_step, shard.rank, Direction::kForward);
  if (!schedule || schedule->ulysses.size() > 1) return Fit::kUnknown;
  const auto rows = attendedTokens(*schedule, tokens.size() + 1);
  if (rows.size() != tokens.size()) return Fit::kUnknown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == tokens[i]) continue;
    result =
        found(finding(shard, "certain",
                      "Row " + std::to_string(i) + " of the rank's shard is token " +
                          toString(tokens[i]) + ", and attention takes it for token " +
                          toString(rows[i]) + ": masks and blocks are those of other tokens."));
    return Fit::kDoesNot;
  }
  return Fit::kFits;
}

/// A balance deals no rank of several one part in a row.
Fit fitsDeclared(const Trace& trace, const ShardRecord& shard,
                 const std::vector<TokenIndex>& tokens, RuleResult& result) {
  const IntentRecord* meant = trace.intent(shard.train_step, shard.rank);
  const RunSpec* run = trace.run();
  if (!meant || !run || run->cp == 1) return Fit::kUnknown;
  if (meant->balance == Balance::kNone || !isOneRun(tokens)) return Fit::kFits;
  // Head and tail of the last rank are neighbours.
  const bool may_be_neighbours = tokens.front().value() > 0;
  if (may_be_neighbours) return Fit::kUnknown;
  result = found(finding(shard, "likely",
                         std::string("The declared balance is ") + name(meant->balance) +
                             ", and the rank holds the first " + std::to_string(tokens.size()) +
                             " tokens in a row, as without a balance."));
  return Fit::kDoesNot;
}

}  // namespace

RuleResult checkUnbalancedUnshard(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  RuleResult result;
  for (const ShardRecord* of_rank : tokenShards(trace)) {
    const ShardRecord& shard = *of_rank;
    const auto dim = static_cast<std::size_t>(shard.seq_dim);
    if (shard.seq_dim < 0 || dim >= shard.local_shape.size()) continue;
    const auto length = static_cast<std::size_t>(std::max<std::int64_t>(0, shard.local_shape[dim]));
    const auto tokens = tokensOf(shard, length + 1);
    if (tokens.empty() || tokens.size() != length) continue;
    Fit fit = fitsRows(trace, shard, tokens, result);
    if (fit == Fit::kUnknown) fit = fitsDeclared(trace, shard, tokens, result);
    if (fit == Fit::kDoesNot) return result;
    compared = compared || fit == Fit::kFits;
  }
  if (compared) return clear();
  return notObservable("needs each rank's tokens and the schedule or the balance of its attention");
}

}  // namespace ringscope::traces
