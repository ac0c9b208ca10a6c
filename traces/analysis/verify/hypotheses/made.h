// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/hypotheses/hypothesis.h"

// The functions of the registry, and what they have in common.
namespace ringscope::traces {

/// Returns the planned attention, block by block.
BlockedAttention asPlanned(const HypothesisSetting& setting);

std::optional<BlockedAttention> plainSum(const HypothesisSetting& setting);
std::optional<BlockedAttention> baseTwo(const HypothesisSetting& setting);
std::optional<BlockedAttention> deltaOfStage(const HypothesisSetting& setting);
std::optional<BlockedAttention> withoutWindow(const HypothesisSetting& setting);
std::optional<BlockedAttention> acrossDocuments(const HypothesisSetting& setting);
std::optional<BlockedAttention> futureBlocks(const HypothesisSetting& setting);
std::optional<BlockedAttention> ownBlocks(const HypothesisSetting& setting);
std::optional<BlockedAttention> ownValues(const HypothesisSetting& setting);
/// The same where blocks are gathered, of which backward may begin with another one.
std::optional<BlockedAttention> firstValues(const HypothesisSetting& setting);
std::optional<BlockedAttention> ownValuesBackward(const HypothesisSetting& setting);
std::optional<BlockedAttention> mirroredRing(const HypothesisSetting& setting);
std::optional<BlockedAttention> displacedSums(const HypothesisSetting& setting);

}  // namespace ringscope::traces
