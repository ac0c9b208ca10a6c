// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "traces/analysis/mistakes/catalogue/detection.h"
#include "traces/analysis/verify/step_hypotheses/step_hypothesis.h"

namespace ringscope::traces {

const std::vector<StepHypothesis>& stepHypotheses() {
  static const std::vector<StepHypothesis> kAll = [] {
    std::map<int, StepHypothesis> by_order;
    for (const Detection& detection : detections())
      for (const NumbersHypothesis& hypothesis : detection.numbers)
        by_order[hypothesis.order] = {detection.mistake, hypothesis.make};
    std::vector<StepHypothesis> all;
    for (const auto& [order, hypothesis] : by_order) all.push_back(hypothesis);
    return all;
  }();
  return kAll;
}

}  // namespace ringscope::traces
