// SPDX-License-Identifier: Apache-2.0
// Whether the logged loss is that of one rank's tokens alone.
#include "traces/analysis/doctor/logged_loss.h"

namespace ringscope::traces {

RuleResult checkMetricNotReduced(const Trace& trace) {
  return answerOf(readLoggedLoss(trace), LossIs::kOfOneRank, "metric_not_reduced",
                  [](const LoggedLoss& loss, Finding& f) {
                    f.title = "The logged loss is that of one rank";
                    f.evidence = describe(loss) + ": it is the mean over the targets of rank " +
                                 toString(loss.rank) + " alone.";
                    f.remedy =
                        "Log the loss after it was summed over dp×cp and divided by the number of "
                        "all targets; what each rank has before that is of its own tokens.";
                  });
}

}  // namespace ringscope::traces
