// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/block_pairing.h"

#include <algorithm>
#include <functional>
#include <set>

#include "traces/analysis/doctor/attended_blocks.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostPairedEntries = 4, kSampledRows = 4, kFewBlockTokens = 4;
constexpr std::size_t kMostPairedRanks = 16, kMostRanksOfParts = 6;

/// The attention of all ranks of a group at one place.
struct PairedBlocks {
  Place place;
  std::vector<AttendedBlock> blocks;
  double tolerance = 0;

  std::size_t size() const { return blocks.size(); }
  std::size_t tokens() const { return blocks.front().k.tokens(); }
  std::size_t entries() const {
    return std::min(kMostPairedEntries, blocks.front().k.entries());
  }
};

/// One query row of one rank.
struct SampledRow {
  std::size_t block = 0, entry = 0, head = 0, kv_head = 0, token = 0;
};

/// Returns some rows of a rank's tokens [begin, end) in one batch entry.
std::vector<SampledRow> sampleRows(const PairedBlocks& paired, std::size_t block,
                                   std::size_t entry, std::size_t begin, std::size_t end) {
  const AttendedBlock& own = paired.blocks[block];
  std::vector<SampledRow> rows;
  std::set<std::size_t> heads = {0, own.q.heads() - 1};
  for (std::size_t i = 0; i < kSampledRows; ++i)
    for (const std::size_t head : heads)
      rows.push_back({block, entry, head, head / (own.q.heads() / own.k.heads()),
                      begin + i * (end - begin - 1) / (kSampledRows - 1)});
  return rows;
}

std::span<const double> outOf(const PairedBlocks& paired, const SampledRow& row) {
  return paired.blocks[row.block].out.at(row.entry, row.head, row.token);
}

/// Attends keys [begin, end) of a block, with the values of another block.
PartialRow attendBlock(const PairedBlocks& paired, const SampledRow& row, std::size_t keys,
                       std::size_t values, std::size_t begin, std::size_t end) {
  return attendPart(paired.blocks[row.block].q.at(row.entry, row.head, row.token),
                    paired.blocks[keys], paired.blocks[values], row.entry, row.kv_head, begin,
                    end);
}

/// Reports whether a row is attention of all keys, with the values of the block that `values` gives
/// for the keys of each block.
bool attendsAll(const PairedBlocks& paired, const SampledRow& row,
                const std::function<std::size_t(std::size_t)>& values) {
  PartialRow sum;
  for (std::size_t keys = 0; keys < paired.size(); ++keys)
    sum.add(attendBlock(paired, row, keys, values(keys), 0, paired.tokens()));
  return sum.distance(outOf(paired, row)) <= paired.tolerance;
}

/// Asks `find` about the first recorded attentions of each group.
std::optional<Finding> inFirstAttentions(
    const Trace& trace, const std::function<std::optional<Finding>(const PairedBlocks&)>& find) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const Place& place : firstAttentions(trace, 2))
    for (const auto& members : sequenceGroups(trace)) {
      if (members.size() < 2 || members.size() > kMostPairedRanks) continue;
      PairedBlocks paired{place, readBlocksAt(trace, place, members, false), 0};
      if (paired.blocks.empty() || paired.tokens() < kFewBlockTokens) continue;
      paired.tolerance = toleranceOf(trace, place);
      if (auto finding = find(paired)) return finding;
    }
  return std::nullopt;
}

Finding pairingFinding(const PairedBlocks& paired, WorldRank rank, const char* buffer,
                       std::string title) {
  Finding finding;
  finding.rule = kUnknownMistake;
  finding.confidence = Confidence::kLikely;
  finding.title = "No rule names it: " + std::move(title);
  finding.place = paired.place;
  finding.rank = rank;
  finding.buffer = buffer;
  return finding;
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
std::set<std::size_t> prefixesOf(const PairedBlocks& paired, const SampledRow& row) {
  std::set<std::size_t> fits;
  const auto out = outOf(paired, row);
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
    const std::set<std::size_t> fits = prefixesOf(paired, row);
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
    const auto part = std::ranges::find_if(counts, [&](std::size_t count) {
      return count > 0 && count < paired.tokens();
    });
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

// Parts that attend each other.

/// One half of a rank's tokens.
struct Part {
  std::size_t block = 0, begin = 0, end = 0;
};

std::vector<Part> partsOf(const PairedBlocks& paired) {
  std::vector<Part> parts;
  const std::size_t half = paired.tokens() / 2;
  for (std::size_t block = 0; block < paired.size(); ++block) {
    parts.push_back({block, 0, half});
    parts.push_back({block, half, paired.tokens()});
  }
  return parts;
}

/// What one row attends of each part, and of its own part up to itself.
std::vector<PartialRow> partialRows(const PairedBlocks& paired, const std::vector<Part>& parts,
                                    std::size_t own, const SampledRow& row) {
  std::vector<PartialRow> partial;
  for (std::size_t i = 0; i < parts.size(); ++i)
    partial.push_back(attendBlock(paired, row, parts[i].block, parts[i].block, parts[i].begin,
                                  i == own ? row.token + 1 : parts[i].end));
  return partial;
}

/// Returns the parts, as bits, that all sampled rows of a part attend beside their own; nullopt
/// when the rows agree with none, or with several sets.
std::optional<std::uint32_t> partsAttendedBy(const PairedBlocks& paired,
                                             const std::vector<Part>& parts, std::size_t own) {
  std::vector<std::pair<SampledRow, std::vector<PartialRow>>> rows;
  for (std::size_t entry = 0; entry < std::min<std::size_t>(2, paired.entries()); ++entry)
    for (const SampledRow& row : sampleRows(paired, parts[own].block, entry, parts[own].begin,
                                            parts[own].end))
      rows.emplace_back(row, partialRows(paired, parts, own, row));
  std::optional<std::uint32_t> only;
  const std::uint32_t own_bit = 1U << own;
  for (std::uint32_t set = 0; set < (1U << parts.size()); ++set) {
    if ((set & own_bit) == 0) continue;
    const bool fits = std::ranges::all_of(rows, [&](const auto& row) {
      PartialRow sum;
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (set >> i & 1U) sum.add(row.second[i]);
      return sum.distance(outOf(paired, row.first)) <= paired.tolerance;
    });
    if (!fits) continue;
    if (only) return std::nullopt;
    only = set;
  }
  return only;
}

std::string partWords(const PairedBlocks& paired, const Part& part) {
  return std::string(part.begin == 0 ? "the first half of rank " : "the second half of rank ") +
         toString(paired.blocks[part.block].rank) + "'s tokens";
}

std::optional<Finding> findMutual(const PairedBlocks& paired) {
  if (paired.size() > kMostRanksOfParts || paired.tokens() < 2 * kFewBlockTokens)
    return std::nullopt;
  const std::vector<Part> parts = partsOf(paired);
  std::vector<std::uint32_t> attended;
  for (std::size_t own = 0; own < parts.size(); ++own)
    attended.push_back(partsAttendedBy(paired, parts, own).value_or(0));
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = a + 1; b < parts.size(); ++b) {
      if (!(attended[a] >> b & 1U) || !(attended[b] >> a & 1U)) continue;
      Finding finding = pairingFinding(paired, paired.blocks[parts[b].block].rank, "out",
                                       "parts of a causal sequence attend all of each other");
      const std::string first = partWords(paired, parts[a]), second = partWords(paired, parts[b]);
      finding.evidence =
          "The recorded output shows that " + first + " attends all of " + second +
          ", and that " + second + " attends all of " + first +
          ", though each of them attends itself causally. One of them comes later in the sequence.";
      finding.remedy =
          "Look at which blocks, and which halves of them, each rank attends at each ring step: a "
          "wrong comparison of the step with the rank takes one case for another.";
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

std::optional<Finding> partsAttendEachOther(const Trace& trace) {
  return inFirstAttentions(trace, findMutual);
}

}  // namespace ringscope::traces
