// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/attended_pairs.h"

#include <algorithm>
#include <utility>

#include "traces/format/core/error.h"
#include "traces/format/core/floor_div.h"
#include "traces/plan/run_rules.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

/// Returns the number of pairs of query i and key j with j ≤ i + ahead.
std::int64_t pairsUpTo(std::int64_t ahead, std::int64_t queries, std::int64_t keys) {
  const std::int64_t first = std::clamp<std::int64_t>(-ahead, 0, queries);
  const std::int64_t whole = std::clamp<std::int64_t>(keys - ahead - 1, first, queries);
  const std::int64_t growing =
      (whole - first) * (ahead + 1) + (whole * (whole - 1) - first * (first - 1)) / 2;
  return growing + (queries - whole) * keys;
}

std::int64_t countPairs(const ShardRun& q, const ShardRun& k, const RunSpec& run) {
  if (run.mask == MaskKind::kFull) return q.count * k.count;
  const std::int64_t all = pairsUpTo(floorDiv(q.begin - k.begin, q.stride), q.count, k.count);
  if (run.window == 0) return all;
  return all - pairsUpTo(floorDiv(q.begin - run.window - k.begin, q.stride), q.count, k.count);
}

PairTable noPairs(std::size_t ranks) {
  return PairTable(ranks, std::vector<std::int64_t>(ranks, 0));
}

/// The tokens of a strided run that lie in a document: at document + rest + stride · (steps + i).
struct ClippedRun {
  std::size_t rank;
  std::int64_t count, steps, rest;
};

ClippedRun clip(std::size_t rank, const ShardRun& run, const TokenRun& document) {
  const auto tokens_before = [&run](std::int64_t token) {
    return std::clamp<std::int64_t>(floorDiv(token - run.begin + run.stride - 1, run.stride), 0,
                                    run.count);
  };
  const std::int64_t first = tokens_before(document.begin), end = tokens_before(document.end);
  const std::int64_t begin = run.global(first) - document.begin;
  return {rank, end - first, begin / run.stride, begin % run.stride};
}

/// Counts each pair of ranks by itself. Takes the number of documents × ranks².
PairTable countInterleaved(const std::vector<std::vector<ShardRun>>& shards,
                           const std::vector<TokenRun>& documents) {
  PairTable pairs = noPairs(shards.size());
  for (const TokenRun& document : documents) {
    std::vector<ClippedRun> parts;
    for (std::size_t rank = 0; rank < shards.size(); ++rank)
      for (const ShardRun& run : shards[rank])
        if (const ClippedRun part = clip(rank, run, document); part.count > 0)
          parts.push_back(part);
    for (const ClippedRun& q : parts)
      for (const ClippedRun& k : parts)
        pairs[q.rank][k.rank] +=
            pairsUpTo(q.steps - k.steps - (q.rest < k.rest ? 1 : 0), q.count, k.count);
  }
  return pairs;
}

/// Walks the tokens in global order and counts how many of them each rank owns since the document
/// began. Takes the number of runs and documents × ranks.
PairTable countContiguous(const std::vector<std::vector<ShardRun>>& shards,
                          const std::vector<TokenRun>& documents) {
  PairTable pairs = noPairs(shards.size());
  std::vector<std::pair<TokenRun, std::size_t>> runs;  // with its rank
  for (std::size_t rank = 0; rank < shards.size(); ++rank)
    for (const ShardRun& run : shards[rank])
      runs.push_back({{run.begin, run.begin + run.count}, rank});
  std::ranges::sort(runs, {}, [](const auto& run) { return run.first.begin; });
  std::size_t next = 0;  // the first run that ends after the document begins
  for (const TokenRun& document : documents) {
    std::vector<std::int64_t> owned(shards.size(), 0);
    while (next < runs.size() && runs[next].first.end <= document.begin) ++next;
    for (std::size_t i = next; i < runs.size() && runs[i].first.begin < document.end; ++i) {
      const auto& [run, rank] = runs[i];
      const std::int64_t rows =
          std::min(run.end, document.end) - std::max(run.begin, document.begin);
      for (std::size_t source = 0; source < owned.size(); ++source)
        pairs[rank][source] += rows * owned[source];
      pairs[rank][rank] += rows * (rows + 1) / 2;
      owned[rank] += rows;
    }
  }
  return pairs;
}

}  // namespace

bool dependsOnDocuments(const RunSpec& run) {
  return run.mask == MaskKind::kDocuments;
}

Balance plannableBalance(const RunSpec& run) {
  const Balance balance = chosenBalance(run);
  if (dependsOnDocuments(run) || needsDocuments(balance))
    throw usageError(
        "where documents end only data say; record a run of them and predict from its trace, or "
        "use --mask causal");
  if (const auto reason = lengthRefusal("a length", run.seq_len, balance, run.cp))
    throw usageError(*reason);
  return balance;
}

PairTable attendedPairs(const RunSpec& run) {
  const ShardLayout layout(run.seq_len, run.cp, plannableBalance(run));
  PairTable pairs = noPairs(static_cast<std::size_t>(run.cp));
  for (const GroupRank rank : everyRank(run.cp))
    for (const GroupRank source : everyRank(run.cp))
      for (const ShardRun& q : layout.shard(rank))
        for (const ShardRun& k : layout.shard(source))
          pairs[rank.index()][source.index()] += countPairs(q, k, run);
  return pairs;
}

PairTable attendedPairs(const std::vector<std::vector<ShardRun>>& shards,
                        const std::vector<TokenRun>& documents) {
  const bool interleaved = std::ranges::any_of(shards, [](const std::vector<ShardRun>& runs) {
    return std::ranges::any_of(runs, [](const ShardRun& run) { return run.stride != 1; });
  });
  return interleaved ? countInterleaved(shards, documents) : countContiguous(shards, documents);
}

PairTable joinedPairs(const PairTable& pairs, std::int32_t ulysses) {
  const auto together = static_cast<std::size_t>(ulysses), rings = pairs.size() / together;
  PairTable joined = noPairs(rings);
  for (std::size_t rank = 0; rank < pairs.size(); ++rank)
    for (std::size_t source = 0; source < pairs.size(); ++source)
      joined[rank / together][source / together] += pairs[rank][source];
  return joined;
}

}  // namespace ringscope::traces
