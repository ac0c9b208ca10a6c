// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/block_pairing.h"
#include "traces/analysis/doctor/label_reading.h"
#include "traces/analysis/doctor/own_documents.h"
#include "traces/analysis/doctor/paired_blocks.h"
#include "traces/analysis/doctor/readings.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostRanksOfParts = 6, kFewTokensOfParts = 8;

/// One half of a rank's tokens.
struct Part {
  std::size_t block = 0, begin = 0, end = 0;
};

std::vector<Part> halvesIn(const PairedBlocks& paired) {
  std::vector<Part> parts;
  const std::size_t half = paired.tokens() / 2;
  for (std::size_t block = 0; block < paired.size(); ++block) {
    parts.push_back({block, 0, half});
    parts.push_back({block, half, paired.tokens()});
  }
  return parts;
}

/// Attends each part with one row, and the row's own part up to itself.
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
    for (const SampledRow& row :
         sampleRows(paired, parts[own].block, entry, parts[own].begin, parts[own].end))
      rows.emplace_back(row, partialRows(paired, parts, own, row));
  std::optional<std::uint32_t> only;
  const std::uint32_t own_bit = 1U << own;
  for (std::uint32_t set = 0; set < (1U << parts.size()); ++set) {
    if ((set & own_bit) == 0) continue;
    const bool fits = std::ranges::all_of(rows, [&](const auto& row) {
      PartialRow sum;
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (set >> i & 1U) sum.add(row.second[i]);
      return sum.distance(recordedOut(paired, row.first)) <= paired.tolerance;
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
  if (paired.size() > kMostRanksOfParts || paired.tokens() < kFewTokensOfParts) return std::nullopt;
  const std::vector<Part> parts = halvesIn(paired);
  std::vector<std::uint32_t> attended;
  for (std::size_t own = 0; own < parts.size(); ++own)
    attended.push_back(partsAttendedBy(paired, parts, own).value_or(0));
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = a + 1; b < parts.size(); ++b) {
      if (!(attended[a] >> b & 1U) || !(attended[b] >> a & 1U)) continue;
      Finding finding = pairingFinding(paired, paired.blocks[parts[b].block].rank, "out",
                                       "parts of a causal sequence attend all of each other");
      finding.evidence =
          "The recorded output shows that one part attends all of another, and the other all of "
          "it, though each of them attends itself causally. They are ";
      finding.evidence += partWords(paired, parts[a]);
      finding.evidence += " and ";
      finding.evidence += partWords(paired, parts[b]);
      finding.evidence += ". One of them comes later in the sequence.";
      finding.remedy =
          "Look at which blocks, and which halves of them, each rank attends at each ring step: a "
          "wrong comparison of the step with the rank takes one case for another.";
      return finding;
    }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> partsAttendEachOther(const Readings& readings) {
  if (readings.labels().are != LabelsAre::kNextTokens) return std::nullopt;
  const Trace& trace = readings.trace();
  return inFirstAttentions(trace, [&](const PairedBlocks& paired) -> std::optional<Finding> {
    std::vector<WorldRank> members;
    for (const AttendedBlock& block : paired.blocks) members.push_back(block.rank);
    const bool parallel = mayHaveOwnDocuments(trace, paired.place.train_step, members);
    return parallel ? std::nullopt : findMutual(paired);
  });
}

}  // namespace ringscope::traces
