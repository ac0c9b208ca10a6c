// SPDX-License-Identifier: Apache-2.0
// Mistakes in where labels are shifted.
#include "traces/analysis/mistakes/catalogue/hypothesis_functions.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

namespace ringscope::traces {

std::vector<StepValues> labelsOfShard(const StepSetting& setting) {
  if (!setting.labels || setting.labels->endsMayBeLeftOut()) return {};
  return {{.labels = setting.labels->unlike_local}};
}

std::vector<StepValues> labelsShiftedTwice(const StepSetting& setting) {
  if (!setting.labels) return {};
  std::vector<StepValues> ways;
  const auto add = [&](const char* how, const SecondShift& second) {
    if (second.like > 0) ways.push_back({.how = how, .labels = second.unlike});
  };
  add("before they are cut", setting.labels->of_sequence);
  add("after they are cut", setting.labels->of_shard);
  add("both times within the shard", setting.labels->within_shard);
  return ways;
}

}  // namespace ringscope::traces
