// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/hypotheses/planned_blocks.h"

namespace ringscope::traces {

/// The input of a hypothesis: one layer, the rows of it that are computed, and the declared mask.
struct HypothesisSetting {
  const LayerTensors& layer;
  const Selection& selection;
  const AttentionMask& mask;
  const PlannedBlocks& plan;

  /// Indices into the layer's tokens and query heads.
  std::size_t tokenFor(const BlockRow& row) const { return selection.rows[row.row]; }
  std::int64_t headFor(const BlockRow& row) const {
    return selection.groups[static_cast<std::size_t>(row.group)].kv_head * layer.groupSize() +
           row.head;
  }
  /// Reports whether a mask lets a query attend a key.
  bool allows(const AttentionMask& by, std::size_t query, std::size_t key) const {
    const TokenRun keys = by.keysFor(layer.tokens[query]);
    const std::int64_t at = layer.tokens[key].value();
    return at >= keys.begin && at < keys.end;
  }
  /// Returns the planned blocks of a row, with the keys that the declared mask allows.
  KeyBlocks planned(const BlockRow& row, Direction direction,
                    const PlannedBlocks::SourceChoice& used = {}) const;
};

/// The result of an attention with a mistake in it.
struct Hypothesis {
  std::string mistake;  ///< an id of the catalogue
  /// Returns nullopt when the mistake cannot have changed anything here.
  std::optional<BlockedAttention> (*make)(const HypothesisSetting& setting);
};

/// Returns all hypotheses. A new one is a function in one of this folder's files, and is named in
/// the row of its mistake in traces/analysis/mistakes/catalogue/detection.cpp.
const std::vector<Hypothesis>& hypotheses();

}  // namespace ringscope::traces
