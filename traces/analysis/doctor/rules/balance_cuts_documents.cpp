// SPDX-License-Identifier: Apache-2.0
// Where documents were to be dealt one by one, each rank has head and tail of each of them.
#include <algorithm>
#include <limits>

#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {
namespace {

/// Of each document with the padding behind it, of 2·ranks chunks, the rank's two. Nothing where
/// one does not divide.
std::optional<std::vector<TokenRun>> dealt(const std::vector<TokenRun>& documents,
                                           std::int64_t length, std::int64_t ranks,
                                           std::int64_t rank) {
  std::vector<TokenRun> runs;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    const std::int64_t begin = documents[d].begin,
                       end = d + 1 < documents.size() ? documents[d + 1].begin : length;
    if (end < begin || (end - begin) % (2 * ranks) != 0) return std::nullopt;
    const std::int64_t chunk = (end - begin) / (2 * ranks), tail = 2 * ranks - 1 - rank;
    runs.push_back({begin + rank * chunk, begin + (rank + 1) * chunk});
    runs.push_back({begin + tail * chunk, begin + (tail + 1) * chunk});
  }
  return joinedInOrder(runs);
}

/// The (query, key) pairs of the queries in `runs`: of each query the keys of its document from
/// the window's first to its own.
double pairsOf(const std::vector<TokenRun>& runs, const IntentRecord& meant) {
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

struct Dealt {
  const ShardRecord* shard = nullptr;
  const GroupRecord* group = nullptr;
  const IntentRecord* meant = nullptr;
  std::int64_t length = 0;
};

/// How the tokens of a rank were cut that shares them with others, where that is recorded.
std::optional<Dealt> dealtOf(const Trace& trace, const ShardRecord& shard) {
  const auto dim = static_cast<std::size_t>(shard.seq_dim);
  const bool tokens = shard.buffer == "input_ids" || shard.buffer == "q";
  if (!tokens || !shard.sharded || shard.seq_dim < 0 || dim >= shard.full_shape.size() ||
      shard.global_from_local.empty())
    return std::nullopt;
  // Who holds the whole sequence was dealt nothing.
  if (shard.local_shape == shard.full_shape) return std::nullopt;
  const Dealt dealt{&shard, trace.groupOf(shard.rank, GroupAxis::kCp),
                    trace.intent(shard.train_step, shard.rank), shard.full_shape[dim]};
  if (!dealt.group || !dealt.meant) return std::nullopt;
  return dealt;
}

/// Of the ranks of its group that are recorded: the least and the most pairs.
std::string describeWork(const Trace& trace, const Dealt& of) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const WorldRank rank : of.group->members) {
    const ShardRecord* shard = trace.findShard(of.shard->buffer, of.shard->train_step, rank);
    if (!shard) continue;
    const double pairs = pairsOf(shard->global_from_local, *of.meant);
    least = std::min(least, pairs);
    most = std::max(most, pairs);
  }
  return "the work of a rank goes from " + describeCount(static_cast<std::int64_t>(least)) +
         " to " + describeCount(static_cast<std::int64_t>(most), "(query, key) pair");
}

Finding finding(const Trace& trace, const Dealt& of) {
  const auto runs = joinedInOrder(of.shard->global_from_local);
  Finding f;
  f.rule = "balance_cuts_documents";
  f.severity = "warning";
  f.confidence = "certain";
  f.title = "The balance does not deal documents one by one";
  f.place = {of.shard->train_step};
  f.rank = of.shard->rank;
  f.buffer = of.shard->buffer;
  f.evidence = "The declared balance is per_document, of " +
               describeCount(std::ssize(of.meant->documents), "document") +
               ", and the rank holds " + describeCount(std::ssize(runs), "run") +
               " of tokens, the first from token " + std::to_string(runs.front().begin) + " to " +
               std::to_string(runs.front().end - 1) +
               ", which are not head and tail of each: " + describeWork(trace, of) + ".";
  f.remedy =
      "Deal head and tail of every document to each rank, and lay them out rank by rank: what is "
      "cut into equal parts afterwards must begin and end where a rank's tokens do.";
  return f;
}

}  // namespace

RuleResult checkBalanceCutsDocuments(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  for (const ShardRecord& shard : trace.shards()) {
    const auto of = dealtOf(trace, shard);
    if (!of) continue;
    if (of->meant->balance != Balance::kPerDocument) {
      compared = true;
      continue;
    }
    const auto seat = std::ranges::find(of->group->members, shard.rank);
    const auto right = dealt(of->meant->documents, of->length, std::ssize(of->group->members),
                             seat - of->group->members.begin());
    if (!right || right->empty()) continue;
    compared = true;
    if (joinedInOrder(shard.global_from_local) != *right) return found(finding(trace, *of));
  }
  if (compared) return clear();
  return notObservable(
      "needs each rank's tokens, and the balance and documents that were declared");
}

}  // namespace ringscope::traces
