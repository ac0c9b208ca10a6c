// SPDX-License-Identifier: Apache-2.0
// Evaluations, and losses that are added to the cross entropy.
#include "traces/format/trace/other_losses.h"

#include <algorithm>

#include "traces/exchange/import/recording/step_notes.h"

namespace ringscope::traces {

void addOtherLosses(RecordedJob& job) {
  StepNotes evaluated, auxiliary;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      const auto sum = line.real("sum"), weight = line.real("weight"),
                 gradient = line.real("gradient");
      const bool is_evaluation = line.kind() == "loss" && line.has("grad") && !line.flag("grad");
      if (is_evaluation && sum && !line.flag("weighted"))
        evaluated.add(line, rank.rank, toJson(EvaluatedLoss{*sum, line.whole("targets", 0)}));
      if (line.kind() == "auxiliary_loss" && weight && gradient)
        auxiliary.add(
            line, rank.rank,
            toJson(AuxiliaryLoss{line.microbatch(), *weight, *gradient, line.flag("part")}));
    }
  evaluated.addTo(job, evaluatedLossesKey);
  auxiliary.addTo(job, auxiliaryLossesKey);
}

}  // namespace ringscope::traces
