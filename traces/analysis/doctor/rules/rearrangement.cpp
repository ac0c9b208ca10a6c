// SPDX-License-Identifier: Apache-2.0
// Rearrangement: whether tokens are laid out as attention takes them.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/shard_lengths.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/plan/balance.h"

namespace ringscope::traces {

// unbalanced_unshard: a rank's tokens are not those that attention takes its rows for, or not those
// of the declared balance.
namespace {

Finding notUndone(const ShardRecord& shard, Confidence confidence, std::string evidence) {
  return {.confidence = confidence,
          .title = "The ranks' tokens are not those that attention takes them for",
          .place = {shard.train_step},
          .rank = shard.rank,
          .buffer = shard.buffer,
          .evidence = std::move(evidence),
          .remedy =
              "Rearrange every buffer by the load balance before it is cut, with the same sizes "
              "that attention is given, and undo it when shards are gathered; or turn the balance "
              "off in both."};
}

/// Reports whether the tokens follow each other, as equal parts do.
bool isOneRun(const std::vector<TokenIndex>& tokens) {
  for (std::size_t i = 1; i < tokens.size(); ++i)
    if (tokens[i] != tokens[i - 1].next()) return false;
  return tokens.size() > 1;
}

/// Returns how each rank's tokens were cut, by training step and rank.
std::vector<const ShardRecord*> tokenShards(const Trace& trace) {
  std::vector<const ShardRecord*> all;
  for (const ShardRecord& shard : trace.shards())
    if (isOfTokens(shard) && shard.sharded) all.push_back(&shard);
  std::ranges::stable_sort(
      all, {}, [](const ShardRecord* shard) { return std::pair(shard->train_step, shard->rank); });
  return all;
}

enum class Fit { kUnknown, kFits, kDoesNot };

/// Compares with the schedule. The rows of a rank that shares no heads are its own tokens.
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
        found(notUndone(shard, Confidence::kCertain,
                        "Row " + std::to_string(i) + " of the rank's shard is token " +
                            toString(tokens[i]) + ", and attention takes it for token " +
                            toString(rows[i]) + ": masks and blocks are those of other tokens."));
    return Fit::kDoesNot;
  }
  return Fit::kFits;
}

/// Compares with the declared balance. No balance deals a rank of several one part in a row.
Fit fitsDeclared(const Trace& trace, const ShardRecord& shard,
                 const std::vector<TokenIndex>& tokens, RuleResult& result) {
  const IntentRecord* meant = trace.intent(shard.train_step, shard.rank);
  if (!meant || !trace.run() || hasOneCpRank(trace)) return Fit::kUnknown;
  if (dealsContiguousParts(meant->balance) || !isOneRun(tokens)) return Fit::kFits;
  // Head and tail of the last rank are neighbours.
  const bool may_be_neighbours = tokens.front().value() > 0;
  if (may_be_neighbours) return Fit::kUnknown;
  result = found(notUndone(shard, Confidence::kLikely,
                           std::string("The declared balance is ") + name(meant->balance) +
                               ", and the rank holds the first " + std::to_string(tokens.size()) +
                               " tokens in a row, as without a balance."));
  return Fit::kDoesNot;
}

}  // namespace

RuleResult checkUnbalancedUnshard(const Trace& trace) {
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  bool compared = false;
  RuleResult result;
  for (const ShardRecord* shard : tokenShards(trace)) {
    const auto tokens = allTokens(*shard);
    if (tokens.empty()) continue;
    Fit fit = fitsRows(trace, *shard, tokens, result);
    if (fit == Fit::kUnknown) fit = fitsDeclared(trace, *shard, tokens, result);
    if (fit == Fit::kDoesNot) return result;
    compared = compared || fit == Fit::kFits;
  }
  if (compared) return clear();
  return notObservable("needs each rank's tokens and the schedule or the balance of its attention");
}

// aliased_buffer: position ids were put into the order of the balance once for each row of the
// batch.
namespace {

/// The first row of a group's position ids and its tokens, in the order of ranks.
struct GroupPositions {
  std::vector<double> ids;
  std::vector<TokenIndex> tokens;
  std::size_t rows = 0;  ///< of the batch
  TensorKey first;
};

bool addRank(const Trace& trace, const TensorRecord& tensor, GroupPositions& all) {
  const ShardRecord* shard = trace.findShard("input_ids", tensor.place.train_step, tensor.rank);
  const auto values = trace.values(tensor);
  if (!shard || !values || values->empty()) return false;
  const auto tokens = tokensIn(*shard, values->size() + 1);
  if (tokens.empty() || values->size() % tokens.size() != 0) return false;
  const std::size_t rows = values->size() / tokens.size();
  if (all.rows != 0 && rows != all.rows) return false;
  for (std::size_t row = 1; row < rows; ++row)
    if (!std::equal(values->begin(), values->begin() + std::ssize(tokens),
                    values->begin() + static_cast<std::ptrdiff_t>(row * tokens.size())))
      return false;
  all.rows = rows;
  all.ids.insert(all.ids.end(), values->begin(), values->begin() + std::ssize(tokens));
  all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
  return true;
}

/// Returns nullopt when a rank is missing, or rows of the batch differ.
std::optional<GroupPositions> groupPositions(const Trace& trace, std::int32_t train_step,
                                             const std::vector<WorldRank>& members) {
  GroupPositions all;
  for (const WorldRank rank : members) {
    const TensorRecord* tensor = trace.findTensor({TensorKind::kPositionIds}, {train_step}, rank);
    if (!tensor || !addRank(trace, *tensor, all)) return std::nullopt;
    if (rank == members.front()) all.first = *tensor;
  }
  return all;
}

/// Returns the order of the tokens, applied `times` times; empty when the tokens are not those of a
/// whole sequence.
std::vector<std::size_t> rearranged(const std::vector<TokenIndex>& tokens, std::size_t times) {
  std::vector<std::size_t> order(tokens.size());
  std::vector<bool> seen(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto token = static_cast<std::size_t>(std::max<std::int64_t>(0, tokens[i].value()));
    if (token >= tokens.size() || seen[token]) return {};
    seen[token] = true;
    order[i] = token;
  }
  std::vector<std::size_t> result = order;
  for (std::size_t time = 1; time < times; ++time) {
    std::vector<std::size_t> again(result.size());
    for (std::size_t i = 0; i < order.size(); ++i) again[i] = result[order[i]];
    result = std::move(again);
  }
  return result;
}

/// Returns the declared position of a token; nullopt when the declaration does not say it.
std::optional<double> declaredPosition(std::size_t token, const IntentRecord& meant) {
  const auto index = static_cast<std::int64_t>(token);
  if (meant.positions == PositionRule::kWholeSequence) return static_cast<double>(index);
  if (meant.positions != PositionRule::kEachDocument) return std::nullopt;
  const TokenRun* document = runWith(meant.documents, TokenIndex::of(index));
  if (meant.documents.empty()) return std::nullopt;
  return static_cast<double>(document ? index - document->begin : index);
}

bool isOrder(const std::vector<double>& ids, const std::vector<std::size_t>& order,
             const IntentRecord& meant) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (declaredPosition(order[i], meant) != ids[i]) return false;
  return true;
}

Finding aliasedBufferFinding(const GroupPositions& of) {
  std::size_t wrong = 0;
  const auto right = rearranged(of.tokens, 1), used = rearranged(of.tokens, of.rows);
  for (std::size_t i = 0; i < right.size(); ++i) wrong += right[i] != used[i];
  return {.title = "Position ids were reordered once for each row of the batch",
          .place = of.first.place,
          .rank = of.first.rank,
          .buffer = "position_ids",
          .evidence =
              "All " + std::to_string(of.rows) + " rows of the batch have the same position ids, " +
              "and these are the tokens' after the balance was applied " + std::to_string(of.rows) +
              " times in place of once: " + describeCount(static_cast<std::int64_t>(wrong)) +
              " of " + describeCount(std::ssize(of.tokens)) + " are another token's.",
          .remedy =
              "Give the load balance a buffer with memory of its own for each row: "
              "position_ids.expand(batch, -1).contiguous(), or one row and a reorder that does not "
              "write in place."};
}

}  // namespace

RuleResult checkAliasedBuffer(const Trace& trace) {
  bool compared = false, other = false;
  for (const auto& members : sequenceGroups(trace))
    for (const ShardRecord& one : trace.shards()) {
      if (one.buffer != "input_ids" || members.empty() || one.rank != members.front()) continue;
      const IntentRecord* meant = trace.intent(one.train_step, one.rank);
      const auto of = groupPositions(trace, one.train_step, members);
      if (!meant || !of || !declaredPosition(0, *meant)) continue;
      const auto order = rearranged(of->tokens, 1);
      if (order.empty()) continue;
      if (isOrder(of->ids, order, *meant)) {
        compared = true;
        continue;
      }
      if (of->rows > 1 && isOrder(of->ids, rearranged(of->tokens, of->rows), *meant))
        return found(aliasedBufferFinding(*of));
      other = true;
    }
  if (other) return undecided("needs position ids that are wrong in no other way");
  if (compared) return clear();
  return notObservable(
      "needs the position ids and tokens of all ranks of a sequence, and from "
      "where positions count");
}

}  // namespace ringscope::traces
