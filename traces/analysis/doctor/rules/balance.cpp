// SPDX-License-Identifier: Apache-2.0
// Load balances: which tokens each rank is dealt.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/shard_lengths.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/plan/run_rules.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {

// balance_without_causal: a declared balance evens out causal work, and the mask is not causal.
namespace {

Finding uselessBalance(std::int32_t train_step, Balance balance) {
  return {
      .severity = Severity::kWarning,
      .title = "A load balance with full attention",
      .place = {train_step},
      .evidence = std::string("The sequence is dealt by ") + name(balance) +
                  ", and every query attends to every key: all shards have the same work without "
                  "it, and code that skips blocks by their place in a causal order drops some.",
      .remedy =
          "Turn the load balance off where attention is not causal (enable_load_balance=False)."};
}

}  // namespace

RuleResult checkBalanceWithoutCausal(const Trace& trace) {
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  for (const IntentRecord& meant : trace.intents())
    if (meant.ranks.size() != 1 && meant.mask == MaskKind::kFull && evensCausalWork(meant.balance))
      return found(uselessBalance(meant.train_step, meant.balance));
  if (!trace.intents().empty()) return clear();
  const RunSpec* run = trace.run();
  if (!run) return notObservable("needs what was declared of the mask and the balance");
  if (run->mask == MaskKind::kFull && evensCausalWork(chosenBalance(*run)))
    return found(uselessBalance(0, chosenBalance(*run)));
  return clear();
}

// balance_cuts_documents: documents were declared to be dealt one by one, and a rank does not have
// head and tail of each of them.
namespace {

/// Deals documents by the plan. Keeps the last layout, which most shards of a recording share.
class DealtDocuments {
 public:
  /// Returns the tokens of a rank as joined runs; nullopt when the plan cannot deal the documents.
  std::optional<std::vector<TokenRun>> runs(const IntentRecord& meant, std::int64_t length,
                                            int ranks, GroupRank rank) {
    const std::vector<TokenRun> slots = documentSlots(meant.documents, length);
    if (!layout_ || slots != slots_ || layout_->length() != length || layout_->cpSize() != ranks)
      try {
        slots_ = slots;
        layout_.emplace(length, ranks, meant.balance, slots);
      } catch (const Error&) {
        layout_.reset();
        return std::nullopt;
      }
    return joinedInOrder(layout_->runs(rank));
  }

 private:
  std::vector<TokenRun> slots_;
  std::optional<ShardLayout> layout_;
};

/// Returns the number of (query, key) pairs of the queries in `runs`. A query attends the keys of
/// its document from the first one in the window to its own.
double causalPairs(const std::vector<TokenRun>& runs, const IntentRecord& meant) {
  const double window = meant.window > 0 ? static_cast<double>(meant.window)
                                         : std::numeric_limits<double>::infinity();
  double pairs = 0;
  const auto& documents = meant.documents;
  for (const TokenRun& run : runs)
    for (auto d = std::ranges::upper_bound(documents, run.begin, {}, &TokenRun::end);
         d != documents.end() && d->begin < run.end; ++d) {
      const auto first = static_cast<double>(std::max(run.begin, d->begin) - d->begin),
                 end = static_cast<double>(std::min(run.end, d->end) - d->begin);
      if (end <= first) continue;
      // Query i of a document has min(i + 1, window) keys.
      const double grows = std::clamp(window, first, end);
      pairs += (grows - first) * (first + 1 + grows) / 2;
      if (end > grows) pairs += (end - grows) * window;
    }
  return pairs;
}

/// A rank's tokens, the ranks with which it shares the sequence, and the declaration.
struct DealtTokens {
  const ShardRecord* shard = nullptr;
  const GroupRecord* group = nullptr;
  const IntentRecord* meant = nullptr;
  std::int64_t length = 0;
};

/// Returns nullopt for a shard that is not a rank's part of a sequence, or lacks a record.
std::optional<DealtTokens> dealtTokens(const Trace& trace, const GroupsByMicrobatch& groups,
                                       const ShardRecord& shard) {
  const auto length = fullLength(shard);
  if (!isOfTokens(shard) || !shard.sharded || !length || shard.global_from_local.empty())
    return std::nullopt;
  // A rank that holds the whole sequence was dealt nothing.
  if (shard.local_shape == shard.full_shape) return std::nullopt;
  const DealtTokens dealt{
      &shard, groups.group(shard.rank, shard.train_step, shard.microbatch),
      trace.intent(shard.train_step, shard.rank, Layer::none(), shard.microbatch), *length};
  if (!dealt.group || !dealt.meant) return std::nullopt;
  return dealt;
}

/// Describes the least and the most pairs among the recorded ranks of the group.
std::string describeWork(const Trace& trace, const DealtTokens& of) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const WorldRank rank : of.group->members) {
    const ShardRecord* shard =
        trace.findShard(of.shard->buffer, of.shard->train_step, rank, of.shard->microbatch);
    if (!shard) continue;
    const double pairs = causalPairs(shard->global_from_local, *of.meant);
    least = std::min(least, pairs);
    most = std::max(most, pairs);
  }
  return "the work of a rank goes from " + describeCount(static_cast<std::int64_t>(least)) +
         " to " + describeCount(static_cast<std::int64_t>(most), "(query, key) pair");
}

Finding cutDocuments(const Trace& trace, const DealtTokens& of) {
  const auto runs = joinedInOrder(of.shard->global_from_local);
  return {
      .severity = Severity::kWarning,
      .title = "The balance does not deal documents one by one",
      .place = {of.shard->train_step},
      .rank = of.shard->rank,
      .buffer = of.shard->buffer,
      .evidence = std::string("The declared balance is ") + name(of.meant->balance) + ", of " +
                  describeCount(std::ssize(of.meant->documents), "document") +
                  ", and the rank holds " + describeCount(std::ssize(runs), "run") +
                  " of tokens, the first from token " + std::to_string(runs.front().begin) +
                  " to " + std::to_string(runs.front().end - 1) +
                  ", which are not head and tail of each: " + describeWork(trace, of) + ".",
      .remedy =
          "Deal head and tail of every document to each rank, and lay them out rank by rank: what "
          "is cut into equal parts afterwards must begin and end where a rank's tokens do."};
}

}  // namespace

RuleResult checkBalanceCutsDocuments(const Trace& trace) {
  if (const auto answer = answerWithoutAnyCp(trace)) return *answer;
  bool compared = false;
  DealtDocuments documents;
  const GroupsByMicrobatch groups(trace);
  for (const auto* shards : {&trace.shards(), &trace.microbatchShards()})
    for (const ShardRecord& shard : *shards) {
      const auto of = dealtTokens(trace, groups, shard);
      if (!of) continue;
      if (!dealsDocuments(of->meant->balance)) {
        compared = true;
        continue;
      }
      const auto& members = of->group->members;
      const auto seat = std::ranges::find(members, shard.rank) - members.begin();
      const auto right = documents.runs(*of->meant, of->length, static_cast<int>(members.size()),
                                        GroupRank::of(seat));
      if (!right || right->empty()) continue;
      compared = true;
      if (joinedInOrder(shard.global_from_local) != *right) return found(cutDocuments(trace, *of));
    }
  if (compared) return clear();
  return notObservable(
      "needs each rank's tokens, and the balance and documents that were declared");
}

}  // namespace ringscope::traces
