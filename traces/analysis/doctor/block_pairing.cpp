// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/block_pairing.h"

#include <algorithm>
#include <functional>
#include <set>

#include "traces/analysis/doctor/paired_blocks.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Reports whether a row is attention of all keys, with the values of the block that `values` gives
/// for the keys of each block.
bool attendsAll(const PairedBlocks& paired, const SampledRow& row,
                const std::function<std::size_t(std::size_t)>& values) {
  PartialRow sum;
  for (std::size_t keys = 0; keys < paired.size(); ++keys)
    sum.add(attendBlock(paired, row, keys, values(keys), 0, paired.tokens()));
  return sum.distance(recordedOut(paired, row)) <= paired.tolerance;
}

// Values that are behind their keys.

/// Values that come `behind` ring steps after their keys, from ring step `first` on. Blocks rotate
/// by `way`: at step s a rank has the keys of rank − way · s.
struct Lag {
  bool forward = true;
  std::size_t first = 1, behind = 1;
};

/// Returns the block whose values go with the keys of a block, on one rank.
std::size_t valuesFor(const Lag& lag, std::size_t size, std::size_t own, std::size_t keys) {
  const std::size_t step = lag.forward ? (own + size - keys) % size : (keys + size - own) % size;
  if (step < lag.first) return keys;
  const std::size_t of = step - lag.behind;
  return lag.forward ? (own + size - of) % size : (own + of) % size;
}

/// Reports whether all sampled rows of a batch entry agree with a lag; rows of each rank must
/// contradict attention without it.
bool lags(const PairedBlocks& paired, std::size_t entry, const Lag& lag) {
  for (std::size_t block = 0; block < paired.size(); ++block) {
    bool shows = false;
    for (const SampledRow& row : sampleRows(paired, block, entry, 0, paired.tokens())) {
      const auto lagging = [&](std::size_t keys) {
        return valuesFor(lag, paired.size(), block, keys);
      };
      if (!attendsAll(paired, row, lagging)) return false;
      shows = shows || !attendsAll(paired, row, [](std::size_t keys) { return keys; });
    }
    if (!shows) return false;
  }
  return true;
}

std::optional<Finding> findLag(const PairedBlocks& paired) {
  for (std::size_t entry = 0; entry < paired.entries(); ++entry)
    for (const bool forward : {true, false})
      for (std::size_t first = 1; first < paired.size(); ++first)
        for (std::size_t behind = 1; behind <= first; ++behind) {
          if (!lags(paired, entry, {forward, first, behind})) continue;
          Finding finding =
              pairingFinding(paired, paired.blocks[1].rank, "v", "values are behind their keys");
          finding.evidence =
              "The recorded output agrees with attention of all keys in which the values are "
              "those of the block " +
              describeCount(static_cast<std::int64_t>(behind), "ring step") +
              " before, from ring step " + std::to_string(first) +
              " on. It does not agree with attention of keys and their own values.";
          finding.remedy =
              "Send the values of a block whenever its keys are sent, in the same direction, and "
              "wait for both before the block is attended.";
          return finding;
        }
  return std::nullopt;
}

// A mask of a rank's own tokens on the blocks of all ranks.

/// Returns the numbers of first tokens of every block that a row can attend; 0: it is all 0.
std::set<std::size_t> fittingPrefixes(const PairedBlocks& paired, const SampledRow& row) {
  std::set<std::size_t> fits;
  const auto out = recordedOut(paired, row);
  if (std::ranges::all_of(out, [](double x) { return x == 0; })) fits.insert(0);
  PartialRow sum;
  for (std::size_t key = 0; key < paired.tokens(); ++key) {
    for (std::size_t block = 0; block < paired.size(); ++block)
      sum.add(attendBlock(paired, row, block, block, key, key + 1));
    if (sum.distance(out) <= paired.tolerance) fits.insert(key + 1);
  }
  return fits;
}

/// Returns the only number of first tokens that all sampled rows of a rank attend; nullopt when
/// none does, or several do.
std::optional<std::size_t> ownPrefix(const PairedBlocks& paired, std::size_t block,
                                     std::size_t entry) {
  std::set<std::size_t> common;
  bool is_first = true;
  for (const SampledRow& row : sampleRows(paired, block, entry, 0, paired.tokens())) {
    const std::set<std::size_t> fits = fittingPrefixes(paired, row);
    if (is_first) common = fits;
    std::erase_if(common, [&](std::size_t count) { return !fits.contains(count); });
    is_first = false;
    if (common.empty()) return std::nullopt;
  }
  return common.size() == 1 ? std::optional(*common.begin()) : std::nullopt;
}

std::optional<Finding> findOwnMask(const PairedBlocks& paired) {
  for (std::size_t entry = 0; entry < paired.entries(); ++entry) {
    std::vector<std::size_t> counts;
    for (std::size_t block = 0; block < paired.size(); ++block)
      if (const auto count = ownPrefix(paired, block, entry)) counts.push_back(*count);
    if (counts.size() != paired.size()) continue;
    const auto part = std::ranges::find_if(
        counts, [&](std::size_t count) { return count > 0 && count < paired.tokens(); });
    const auto other = std::ranges::find_if(
        counts, [&](std::size_t count) { return part != counts.end() && count != *part; });
    if (part == counts.end() || other == counts.end()) continue;
    const WorldRank rank = paired.blocks[static_cast<std::size_t>(part - counts.begin())].rank;
    Finding finding =
        pairingFinding(paired, rank, "out", "a mask of each rank's own keys is laid on all blocks");
    finding.evidence =
        "In batch entry " + std::to_string(entry) + " the rows of rank " + toString(rank) +
        " attend the first " + describeCount(static_cast<std::int64_t>(*part)) + " of the " +
        describeCount(static_cast<std::int64_t>(paired.tokens()), "key") +
        " in the block of every rank, and those of rank " +
        toString(paired.blocks[static_cast<std::size_t>(other - counts.begin())].rank) +
        " the first " + describeCount(static_cast<std::int64_t>(*other)) +
        ". A padding mask belongs to the block whose keys it leaves out.";
    finding.remedy =
        "Send the padding mask of a block with its keys and values, or gather the masks of all "
        "ranks, and mask each block by its own.";
    return finding;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> valuesBehindKeys(const Trace& trace) {
  return inFirstAttentions(trace, findLag);
}

std::optional<Finding> ownMaskOnAllBlocks(const Trace& trace) {
  return inFirstAttentions(trace, findOwnMask);
}

}  // namespace ringscope::traces
