// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/attended_pairs.h"

#include <algorithm>
#include <optional>

#include "traces/format/core/error.h"
#include "traces/format/core/floor_div.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

/// Returns the number of pairs of a run's query i and another run's key j with j ≤ i + ahead.
std::int64_t pairsUpTo(std::int64_t ahead, std::int64_t queries, std::int64_t keys) {
  const std::int64_t first = std::clamp<std::int64_t>(-ahead, 0, queries);
  const std::int64_t whole = std::clamp<std::int64_t>(keys - ahead - 1, first, queries);
  const std::int64_t growing =
      (whole - first) * (ahead + 1) + (whole * (whole - 1) - first * (first - 1)) / 2;
  return growing + (queries - whole) * keys;
}

std::int64_t pairsOf(const ShardRun& q, const ShardRun& k, const RunSpec& run) {
  if (run.mask == MaskKind::kFull) return q.count * k.count;
  const std::int64_t all = pairsUpTo(floorDiv(q.begin - k.begin, q.stride), q.count, k.count);
  if (run.window == 0) return all;
  return all - pairsUpTo(floorDiv(q.begin - run.window - k.begin, q.stride), q.count, k.count);
}

}  // namespace

Balance plannableBalance(const RunSpec& run) {
  const Balance balance = chosenBalance(run);
  if (run.mask == MaskKind::kDocuments || balance == Balance::kPerDocument)
    throw usageError(
        "where documents end only data say; record a run of them and predict from its trace, or "
        "use --mask causal");
  if (const auto reason = lengthRefusal("a length", run.seq_len, balance, run.cp))
    throw usageError(*reason);
  return balance;
}

std::vector<ShardRun> plannedRuns(const RunSpec& run, GroupRank rank, Balance balance) {
  const std::int64_t size = run.seq_len / run.cp, seat = rank.value();
  if (balance == Balance::kStriped) return {{seat, size, run.cp}};
  if (balance == Balance::kNone) return {{seat * size, size, 1}};
  const std::int64_t half = size / 2;
  return {{seat * half, half, 1}, {(2 * std::int64_t{run.cp} - 1 - seat) * half, half, 1}};
}

std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run) {
  const Balance balance = plannableBalance(run);
  const auto ranks = static_cast<std::size_t>(run.cp);
  std::vector<std::vector<std::int64_t>> pairs(ranks, std::vector<std::int64_t>(ranks, 0));
  for (std::int32_t rank = 0; rank < run.cp; ++rank)
    for (std::int32_t source = 0; source < run.cp; ++source)
      for (const ShardRun& q : plannedRuns(run, GroupRank::of(rank), balance))
        for (const ShardRun& k : plannedRuns(run, GroupRank::of(source), balance))
          pairs[static_cast<std::size_t>(rank)][static_cast<std::size_t>(source)] +=
              pairsOf(q, k, run);
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
