// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/hypotheses/planned_blocks.h"

namespace ringscope::traces {

/// The input of a hypothesis: one layer, the rows of it that are computed, and the declared mask.
struct HypothesisSetting {
  const Trace& trace;
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

/// The attentions with a mistake in them.
struct Hypothesis {
  std::string mistake;  ///< an id of the catalogue
  /// Returns one attention per form of the mistake; none when it cannot have changed anything here.
  std::vector<BlockedAttention> (*make)(const HypothesisSetting& setting);
  bool undescribed = false;  ///< only for attention that nothing describes but its results
};

/// Returns all hypotheses. A new one is a function in one of this folder's files, and is named in
/// the row of its mistake in traces/analysis/mistakes/catalogue/detection.cpp.
const std::vector<Hypothesis>& hypotheses();

}  // namespace ringscope::traces
