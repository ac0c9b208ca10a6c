// SPDX-License-Identifier: Apache-2.0
// Whether the logged loss is cp times the mean over all targets, or that divided by cp.
#include "traces/analysis/doctor/logged_loss.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkLossScaledByCp(const Trace& trace) {
  return answerOf(readLoggedLoss(trace), LossIs::kScaledByCp, "loss_scaled_by_cp",
                  [](const LoggedLoss& loss, Finding& f) {
                    f.title = loss.scale > 1 ? "The loss is taken times cp"
                                             : "The loss is divided by cp once more";
                    f.evidence = describe(loss) + ", " + describeSignificant(loss.scale, 3) +
                                 "× less: all of it was summed over the cp ranks already.";
                    if (loss.scale < 1)
                      f.evidence = describe(loss) + ", " + describeSignificant(1 / loss.scale, 3) +
                                   "× more: the ranks' parts are no copies to be averaged.";
                    f.remedy =
                        "Divide the summed loss by the number of all targets and by nothing else; "
                        "drop the factor of cp, or the mean over cp ranks that it was made for.";
                  });
}

}  // namespace ringscope::traces
