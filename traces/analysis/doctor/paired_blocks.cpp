// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/paired_blocks.h"

#include <set>

#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kSampledRows = 4, kFewBlockTokens = 4, kMostPairedRanks = 16;

}  // namespace

std::vector<SampledRow> sampleRows(const PairedBlocks& paired, std::size_t block, std::size_t entry,
                                   std::size_t begin, std::size_t end) {
  const AttendedBlock& own = paired.blocks[block];
  std::vector<SampledRow> rows;
  std::set<std::size_t> heads = {0, own.q.heads() - 1};
  for (std::size_t i = 0; i < kSampledRows; ++i)
    for (const std::size_t head : heads)
      rows.push_back({block, entry, head, head / (own.q.heads() / own.k.heads()),
                      begin + i * (end - begin - 1) / (kSampledRows - 1)});
  return rows;
}

std::span<const double> recordedOut(const PairedBlocks& paired, const SampledRow& row) {
  return paired.blocks[row.block].out.at(row.entry, row.head, row.token);
}

PartialRow attendBlock(const PairedBlocks& paired, const SampledRow& row, std::size_t keys,
                       std::size_t values, std::size_t begin, std::size_t end) {
  return attendPart(paired.blocks[row.block].q.at(row.entry, row.head, row.token),
                    paired.blocks[keys], paired.blocks[values], row.entry, row.kv_head, begin, end);
}

std::optional<Finding> inFirstAttentions(
    const Trace& trace, const std::function<std::optional<Finding>(const PairedBlocks&)>& find) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const Place& place : firstAttentions(trace, 2))
    for (const auto& members : sequenceGroups(trace)) {
      if (members.size() < 2 || members.size() > kMostPairedRanks) continue;
      PairedBlocks paired{place, readBlocksAt(trace, place, members, false), 0};
      if (paired.blocks.empty() || paired.tokens() < kFewBlockTokens) continue;
      paired.tolerance = rowTolerance(trace, place);
      if (auto finding = find(paired)) return finding;
    }
  return std::nullopt;
}

Finding pairingFinding(const PairedBlocks& paired, WorldRank rank, const char* buffer,
                       const std::string& title) {
  Finding finding;
  finding.rule = kUnknownMistake;
  finding.confidence = Confidence::kLikely;
  finding.title = "No rule names it: " + title;
  finding.place = paired.place;
  finding.rank = rank;
  finding.buffer = buffer;
  return finding;
}

}  // namespace ringscope::traces
