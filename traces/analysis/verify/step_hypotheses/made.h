// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

// The functions of the registry.
namespace ringscope::traces {

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
