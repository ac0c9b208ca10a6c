// SPDX-License-Identifier: Apache-2.0
// Finds a loss that is not finite although every rank's sum is, where a rank has no target: its
// mean is 0 divided by 0.
#include "traces/analysis/doctor/logged_loss.h"

namespace ringscope::traces {

RuleResult checkRankWithoutTargets(const Trace& trace) {
  return answerOf(
      readLoggedLoss(trace), LossIs::kLost, "rank_without_targets",
      [](const LoggedLoss& loss, Finding& f) {
        f.title = "A rank without a target makes the loss NaN";
        f.evidence = "Rank " + toString(loss.rank) +
                     " has no label that is not ignored; the sums of all " +
                     std::to_string(loss.ranks.size()) +
                     " ranks are finite, and the logged loss is not: a mean over no target is 0 "
                     "divided by 0.";
        f.remedy =
            "Divide once, after the sums and the numbers of targets were added over dp×cp; a rank "
            "without a target then adds 0 to both.";
      });
}

}  // namespace ringscope::traces
