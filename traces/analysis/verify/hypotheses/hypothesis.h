// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/hypotheses/planned_blocks.h"

namespace ringscope::traces {

/// What a hypothesis is made from: one layer, the rows of it that are computed, what was meant.
struct HypothesisSetting {
  const LayerTensors& layer;
  const Selection& selection;
  const AttentionMask& mask;
  const PlannedBlocks& plan;

  /// Indices into the layer's tokens and query heads.
  std::size_t tokenOf(const BlockRow& row) const { return selection.rows[row.row]; }
  std::int64_t headOf(const BlockRow& row) const {
    return selection.groups[static_cast<std::size_t>(row.group)].kv_head * layer.groupSize() +
           row.head;
  }
  /// Whether a mask lets a query attend a key.
  bool allows(const AttentionMask& by, std::size_t query, std::size_t key) const {
    const TokenRun keys = by.keysOf(layer.tokens[query]);
    const std::int64_t at = layer.tokens[key].value();
    return at >= keys.begin && at < keys.end;
  }
  /// What was planned for a row, of which the declared mask allows.
  KeyBlocks planned(const BlockRow& row, Direction direction,
                    const PlannedBlocks::SourceChoice& used = {}) const;
};

/// How an attention would have come out with a mistake in it.
struct Hypothesis {
  std::string name;  ///< as the catalogue's entry of the mistake names it
  /// Nothing: it cannot have changed anything here.
  std::optional<BlockedAttention> (*make)(const HypothesisSetting& setting);
};

/// All of them; a new one is a function in one of this folder's files and a line in registry.cpp.
const std::vector<Hypothesis>& hypotheses();

}  // namespace ringscope::traces
