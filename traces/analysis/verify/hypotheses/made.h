// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/hypotheses/hypothesis.h"

// The functions of the registry, and what they have in common.
namespace ringscope::traces {

/// Returns the planned attention, block by block.
BlockedAttention asPlanned(const HypothesisSetting& setting);

std::vector<BlockedAttention> plainSum(const HypothesisSetting& setting);
std::vector<BlockedAttention> baseTwo(const HypothesisSetting& setting);
std::vector<BlockedAttention> lowPrecision(const HypothesisSetting& setting);
std::vector<BlockedAttention> sumsOfStage(const HypothesisSetting& setting);
std::vector<BlockedAttention> droppedMask(const HypothesisSetting& setting);
std::vector<BlockedAttention> acrossDocuments(const HypothesisSetting& setting);
std::vector<BlockedAttention> futureBlocks(const HypothesisSetting& setting);
std::vector<BlockedAttention> causalBlocks(const HypothesisSetting& setting);
std::vector<BlockedAttention> ownBlocks(const HypothesisSetting& setting);
/// Also those of gathered blocks, where backward may begin with the block of another rank.
std::vector<BlockedAttention> ownValues(const HypothesisSetting& setting);
std::vector<BlockedAttention> ownValuesBackward(const HypothesisSetting& setting);
std::vector<BlockedAttention> mirroredRing(const HypothesisSetting& setting);
std::vector<BlockedAttention> lostHop(const HypothesisSetting& setting);
std::vector<BlockedAttention> displacedSums(const HypothesisSetting& setting);
/// Tokens that are taken for those of another layout, or whose rows are put back by another one.
std::vector<BlockedAttention> otherLayout(const HypothesisSetting& setting);
std::vector<BlockedAttention> otherHeads(const HypothesisSetting& setting);

}  // namespace ringscope::traces
