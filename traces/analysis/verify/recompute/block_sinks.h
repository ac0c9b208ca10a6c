// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/analysis/verify/recompute/comparison.h"

namespace ringscope::traces {

/// Reports, as part of a sentence, that recorded out agrees with attention whose sinks were added
/// to the denominator once for each block of keys. The blocks are those of the ranks or their
/// chunks. Sinks that are not recorded are inferred from the rows. Returns nullopt when out does
/// not agree, or when every row attends one block.
std::optional<std::string> findBlockSinks(const Trace& trace, const LayerTensors& layer,
                                          const Selection& selection, const AttentionMask& mask);

/// Reports whether recorded out agrees with attention in which each rank without a key for a row
/// counts as a block with out 0 and a log-sum-exp of 0.
bool countsEmptyBlocks(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                       const AttentionMask& mask);

}  // namespace ringscope::traces
