// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/step_hypotheses/made.h"

namespace ringscope::traces {

const std::vector<StepHypothesis>& stepHypotheses() {
  static const std::vector<StepHypothesis> kAll = {
      {"labels_of_shard", labelsOfShard}, {"labels_of_second", labelsShiftedTwice},
      {"mean_of_means", meanOfMeans},     {"loss_times_cp", lossTimesCp},
      {"loss_of_rank", lossOfRank},       {"mean_of_no_target", meanOfNoTarget},
      {"sum_over_dp", sumOverDp},         {"gradients_times_cp", gradientsTimesCp},
      {"sum_of_smaller", sumOfSmaller},   {"norm_of_replicas", normOfReplicas},
  };
  return kAll;
}

}  // namespace ringscope::traces
