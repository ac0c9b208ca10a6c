// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/analysis/doctor/attended_blocks.h"
#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The attention of all ranks of a group at one place.
struct PairedBlocks {
  Place place;
  std::vector<AttendedBlock> blocks;
  double tolerance = 0;

  std::size_t size() const { return blocks.size(); }
  std::size_t tokens() const { return blocks.front().k.tokens(); }
  std::size_t entries() const {
    constexpr std::size_t kMost = 4;
    return std::min(kMost, blocks.front().k.entries());
  }
};

/// One query row of one rank.
struct SampledRow {
  std::size_t block = 0, entry = 0, head = 0, kv_head = 0, token = 0;
};

/// Returns some rows of a rank's tokens [begin, end) in one batch entry.
std::vector<SampledRow> sampleRows(const PairedBlocks& paired, std::size_t block, std::size_t entry,
                                   std::size_t begin, std::size_t end);

std::span<const double> recordedOut(const PairedBlocks& paired, const SampledRow& row);

/// Attends keys [begin, end) of a block, with the values of another block.
PartialRow attendBlock(const PairedBlocks& paired, const SampledRow& row, std::size_t keys,
                       std::size_t values, std::size_t begin, std::size_t end);

/// Asks `find` about the first recorded attentions of each group.
std::optional<Finding> inFirstAttentions(
    const Trace& trace, const std::function<std::optional<Finding>(const PairedBlocks&)>& find);

/// Returns a finding that no rule names. Its evidence and remedy are empty.
Finding pairingFinding(const PairedBlocks& paired, WorldRank rank, const char* buffer,
                       const std::string& title);

}  // namespace ringscope::traces
