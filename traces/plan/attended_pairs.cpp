// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/attended_pairs.h"

#include <algorithm>

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

}  // namespace

bool dependsOnDocuments(const RunSpec& run) {
  return run.mask == MaskKind::kDocuments;
}

Balance plannableBalance(const RunSpec& run) {
  const Balance balance = chosenBalance(run);
  if (dependsOnDocuments(run) || balance == Balance::kPerDocument)
    throw usageError(
        "where documents end only data say; record a run of them and predict from its trace, or "
        "use --mask causal");
  if (const auto reason = lengthRefusal("a length", run.seq_len, balance, run.cp))
    throw usageError(*reason);
  return balance;
}

std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run) {
  const ShardLayout layout(run.seq_len, run.cp, plannableBalance(run));
  const auto ranks = static_cast<std::size_t>(run.cp);
  std::vector<std::vector<std::int64_t>> pairs(ranks, std::vector<std::int64_t>(ranks, 0));
  for (const GroupRank rank : everyRank(run.cp))
    for (const GroupRank source : everyRank(run.cp))
      for (const ShardRun& q : layout.shard(rank))
        for (const ShardRun& k : layout.shard(source))
          pairs[rank.index()][source.index()] += countPairs(q, k, run);
  return pairs;
}

std::vector<std::vector<std::int64_t>> joinedPairs(
    const std::vector<std::vector<std::int64_t>>& pairs, std::int32_t ulysses) {
  const auto together = static_cast<std::size_t>(ulysses), rings = pairs.size() / together;
  std::vector<std::vector<std::int64_t>> joined(rings, std::vector<std::int64_t>(rings, 0));
  for (std::size_t rank = 0; rank < pairs.size(); ++rank)
    for (std::size_t source = 0; source < pairs.size(); ++source)
      joined[rank / together][source / together] += pairs[rank][source];
  return joined;
}

}  // namespace ringscope::traces
