// SPDX-License-Identifier: Apache-2.0
// Whether the logged loss is the mean of each rank's own mean.
#include <algorithm>

#include "traces/analysis/doctor/logged_loss.h"

namespace ringscope::traces {

RuleResult checkMeanOfLocalMeans(const Trace& trace) {
  return answerOf(
      readLoggedLoss(trace), LossIs::kMeanOfMeans, "mean_of_local_means",
      [](const LoggedLoss& loss, Finding& f) {
        const auto [fewest, most] = std::ranges::minmax(
            loss.ranks, {}, [](const RankLoss& rank) { return rank.own.targets; });
        f.title = "The loss is a mean of the ranks' own means";
        f.evidence = describe(loss) + ": it is the mean of " + std::to_string(loss.ranks.size()) +
                     " means, over " + std::to_string(fewest.own.targets) + " targets on rank " +
                     toString(fewest.rank) + " and " + std::to_string(most.own.targets) +
                     " on rank " + toString(most.rank) + ".";
        f.remedy =
            "Sum the losses of all ranks and the numbers of their targets over dp×cp, and divide "
            "one by the other: loss_sum / targets, not loss.mean() on each rank.";
      });
}

}  // namespace ringscope::traces
