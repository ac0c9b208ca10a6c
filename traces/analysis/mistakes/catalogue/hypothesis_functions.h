// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

// The functions of the hypotheses, which the rows of detection.cpp name.
namespace ringscope::traces {

struct HypothesisSetting;  // traces/analysis/verify/hypotheses/hypothesis.h
struct BlockedAttention;
struct StepSetting;  // traces/analysis/verify/step_hypotheses/step_hypothesis.h
struct StepValues;

// Attention with a mistake, in traces/analysis/verify/hypotheses.
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

// Numbers of a training step with a mistake, in traces/analysis/verify/step_hypotheses.
std::vector<StepValues> labelsOfShard(const StepSetting& setting);
std::vector<StepValues> labelsShiftedTwice(const StepSetting& setting);
std::vector<StepValues> meanOfMeans(const StepSetting& setting);
std::vector<StepValues> lossTimesCp(const StepSetting& setting);
/// The log alone.
std::vector<StepValues> lossOfRank(const StepSetting& setting);
/// Returns the loss of each rank that divides by no target.
std::vector<StepValues> meanOfNoTarget(const StepSetting& setting);
std::vector<StepValues> gradientsTimesCp(const StepSetting& setting);
std::vector<StepValues> sumOverDp(const StepSetting& setting);
std::vector<StepValues> sumOfSmaller(const StepSetting& setting);
std::vector<StepValues> normOfReplicas(const StepSetting& setting);

}  // namespace ringscope::traces
