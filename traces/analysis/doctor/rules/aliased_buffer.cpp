// SPDX-License-Identifier: Apache-2.0
// Position ids that were put into the order of the balance once for each row of the batch.
#include <algorithm>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
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
  const auto tokens = tokensOf(*shard, values->size() + 1);
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

/// Nothing where a rank is missing, or rows of the batch differ.
std::optional<GroupPositions> positionsOf(const Trace& trace, std::int32_t train_step,
                                          const std::vector<WorldRank>& members) {
  GroupPositions all;
  for (const WorldRank rank : members) {
    const TensorRecord* tensor = trace.findTensor({TensorKind::kPositionIds}, {train_step}, rank);
    if (!tensor || !addRank(trace, *tensor, all)) return std::nullopt;
    if (rank == members.front()) all.first = *tensor;
  }
  return all;
}

/// The order in which tokens lie, applied `times` times; empty where it is none of a sequence.
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

/// Where the declaration says from where the position of a token counts.
std::optional<double> positionOf(std::size_t token, const IntentRecord& meant) {
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
    if (positionOf(order[i], meant) != ids[i]) return false;
  return true;
}

Finding finding(const GroupPositions& of) {
  std::size_t wrong = 0;
  const auto right = rearranged(of.tokens, 1), used = rearranged(of.tokens, of.rows);
  for (std::size_t i = 0; i < right.size(); ++i) wrong += right[i] != used[i];
  Finding f;
  f.rule = "aliased_buffer";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Position ids were reordered once for each row of the batch";
  f.place = of.first.place;
  f.rank = of.first.rank;
  f.buffer = "position_ids";
  f.evidence =
      "All " + std::to_string(of.rows) + " rows of the batch have the same position ids, " +
      "and these are the tokens' after the balance was applied " + std::to_string(of.rows) +
      " times in place of once: " + describeCount(static_cast<std::int64_t>(wrong)) + " of " +
      describeCount(std::ssize(of.tokens)) + " are another token's.";
  f.remedy =
      "Give the load balance a buffer with memory of its own for each row: "
      "position_ids.expand(batch, -1).contiguous(), or one row and a reorder that does not write "
      "in place.";
  return f;
}

}  // namespace

RuleResult checkAliasedBuffer(const Trace& trace) {
  bool compared = false, other = false;
  for (const auto& members : sequenceGroups(trace))
    for (const ShardRecord& one : trace.shards()) {
      if (one.buffer != "input_ids" || members.empty() || one.rank != members.front()) continue;
      const IntentRecord* meant = trace.intent(one.train_step, one.rank);
      const auto of = positionsOf(trace, one.train_step, members);
      if (!meant || !of || !positionOf(0, *meant)) continue;
      const auto order = rearranged(of->tokens, 1);
      if (order.empty()) continue;
      if (isOrder(of->ids, order, *meant)) {
        compared = true;
        continue;
      }
      if (of->rows > 1 && isOrder(of->ids, rearranged(of->tokens, of->rows), *meant))
        return found(finding(*of));
      other = true;
    }
  if (other) return undecided("needs position ids that are wrong in no other way");
  if (compared) return clear();
  return notObservable(
      "needs the position ids and tokens of all ranks of a sequence, and from "
      "where positions count");
}

}  // namespace ringscope::traces
