// SPDX-License-Identifier: Apache-2.0
#include "traces/clock/attended_pairs.h"

#include <algorithm>
#include <optional>

#include "traces/core/error.h"
#include "traces/schema/run_rules.h"
#include "traces/schema/schedule_record.h"

namespace ringscope::traces {
namespace {

/// The tokens of a rank; all runs of a balance have the same stride.
std::vector<ShardRun> runsOf(std::int64_t length, std::int32_t cp, std::int32_t seat,
                             Balance balance) {
  const std::int64_t size = length / cp;
  if (balance == Balance::kStriped) return {{seat, size, cp}};
  if (balance == Balance::kNone) return {{seat * size, size, 1}};
  const std::int64_t half = size / 2;
  return {{seat * half, half, 1}, {(2 * std::int64_t{cp} - 1 - seat) * half, half, 1}};
}

std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// Pairs of a run's query i and another's key j with j ≤ i + ahead.
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

/// Throws usageError for what cannot be planned without data.
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

/// A causal square; each part of its rows is computed to the last key that any of them sees.
KernelWork causalSquare(std::int64_t rows) {
  constexpr std::int64_t kMany = 768, kSome = 192;
  const std::int64_t part = rows >= kMany ? 256 : rows >= kSome ? 64 : 32;
  KernelWork work{0, 1};
  for (std::int64_t row = 0; row < rows; row += part)
    work.pairs += std::min(part, rows - row) * std::min(rows, row + part);
  return work;
}

void add(KernelWork& work, const KernelWork& more) {
  work.pairs += more.pairs;
  work.calls += more.calls;
}

void addRectangle(KernelWork& work, std::int64_t rows, std::int64_t keys) {
  if (rows > 0 && keys > 0) add(work, {rows * keys, 1});
}

/// Query i of a run attends keys i + low to i + high of another; without a lower edge.
KernelWork causalBand(std::int64_t high, std::int64_t queries, std::int64_t keys) {
  const std::int64_t first = std::clamp<std::int64_t>(-high, 0, queries);
  const std::int64_t whole = std::clamp<std::int64_t>(keys - high, first, queries);
  KernelWork work;
  addRectangle(work, whole - first, first + high);
  if (whole > first) add(work, causalSquare(whole - first));
  addRectangle(work, queries - whole, keys);
  return work;
}

/// With one: some rows at a time, all keys that any of them sees, in the parts that all of them see
/// and those before and after, which have a mask.
KernelWork windowBand(std::int64_t low, std::int64_t high, std::int64_t queries,
                      std::int64_t keys) {
  constexpr std::int64_t kRows = 128;
  const std::int64_t begin = std::max<std::int64_t>(0, -high);
  const std::int64_t end = std::min(queries, keys - low);
  if (begin >= end || low > high) return {};
  if (end - 1 + low <= std::max<std::int64_t>(0, begin + low)) return causalBand(high, end, keys);
  KernelWork work;
  std::int64_t open_from = -1, open_to = -1;  // keys of the rows before, which need no mask
  const auto first = [&](std::int64_t row) { return std::max<std::int64_t>(0, row + low); };
  const auto after = [&](std::int64_t row) { return std::min(keys, row + high + 1); };
  for (std::int64_t row = begin; row < end; row += kRows) {
    const std::int64_t last = std::min(end, row + kRows) - 1;
    const std::int64_t from = first(row), to = after(last), rows = last + 1 - row;
    const std::int64_t all_from = std::max(from, first(last)), all_to = std::min(to, after(row));
    if (all_from >= all_to) {
      addRectangle(work, rows, to - from);
      open_from = -1;
      continue;
    }
    addRectangle(work, rows, all_from - from);
    addRectangle(work, rows, all_to - all_from);
    addRectangle(work, rows, to - all_to);
    const bool joins = all_from == from && from == open_from && all_to == open_to;
    if (joins) --work.calls;  // with the rows before, which see the same keys
    open_from = all_to == to ? from : -1;
    open_to = to;
  }
  return work;
}

KernelWork workOf(const ShardRun& q, const ShardRun& k, const RunSpec& run) {
  const std::int64_t ahead = q.begin - k.begin, high = floorDiv(ahead, q.stride);
  if (run.window == 0) return causalBand(high, q.count, k.count);
  return windowBand(-floorDiv(run.window - ahead - 1, q.stride), high, q.count, k.count);
}

/// Of a rank for the block of another.
KernelWork blockWork(const RunSpec& run, std::int32_t rank, std::int32_t source, Balance balance) {
  const std::int64_t size = run.seq_len / run.cp;
  if (run.mask == MaskKind::kFull) return {size * size, 1};
  if (rank == source && run.window == 0) return causalSquare(size);
  KernelWork work;
  for (const ShardRun& q : runsOf(run.seq_len, run.cp, rank, balance))
    for (const ShardRun& k : runsOf(run.seq_len, run.cp, source, balance))
      add(work, workOf(q, k, run));
  return work;
}

}  // namespace

std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run) {
  const Balance balance = plannableBalance(run);
  const auto ranks = static_cast<std::size_t>(run.cp);
  std::vector<std::vector<std::int64_t>> pairs(ranks, std::vector<std::int64_t>(ranks, 0));
  for (std::int32_t rank = 0; rank < run.cp; ++rank)
    for (std::int32_t source = 0; source < run.cp; ++source)
      for (const ShardRun& q : runsOf(run.seq_len, run.cp, rank, balance))
        for (const ShardRun& k : runsOf(run.seq_len, run.cp, source, balance))
          pairs[static_cast<std::size_t>(rank)][static_cast<std::size_t>(source)] +=
              pairsOf(q, k, run);
  return pairs;
}

std::vector<std::vector<KernelWork>> kernelWork(const RunSpec& asked, std::int32_t ulysses) {
  const Balance balance = plannableBalance(asked);
  const bool whole = ulysses > 1 && ulysses == asked.cp;  // each attends all tokens
  RunSpec run = asked;
  if (whole) run.cp = 1;
  const auto together = static_cast<std::size_t>(whole ? 1 : ulysses);
  const auto rings = static_cast<std::size_t>(run.cp) / together;
  std::vector<std::vector<KernelWork>> work(rings, std::vector<KernelWork>(rings));
  for (std::int32_t rank = 0; rank < run.cp; ++rank)
    for (std::int32_t source = 0; source < run.cp; ++source)
      add(work[static_cast<std::size_t>(rank) / together]
              [static_cast<std::size_t>(source) / together],
          blockWork(run, rank, source, whole ? Balance::kNone : balance));
  return work;
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
