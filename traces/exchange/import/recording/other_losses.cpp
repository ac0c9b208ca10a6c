// SPDX-License-Identifier: Apache-2.0
// Evaluations, and losses that are added to the cross entropy.
#include "traces/format/trace/other_losses.h"

#include <algorithm>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {
namespace {

using ByStep = std::map<std::int32_t, nlohmann::json>;  ///< {"RANK": [loss, …]}

void addTo(ByStep& steps, const Line& line, WorldRank rank, const nlohmann::json& loss) {
  nlohmann::json& own = steps[line.place(Direction::kForward).train_step][toString(rank)];
  if (own.is_null()) own = nlohmann::json::array();
  own.push_back(loss);
}

}  // namespace

void addOtherLosses(RecordedJob& job) {
  ByStep evaluated, auxiliary;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      const auto sum = line.real("sum"), weight = line.real("weight"),
                 gradient = line.real("gradient");
      const bool is_evaluation = line.kind() == "loss" && line.has("grad") && !line.flag("grad");
      if (is_evaluation && sum && !line.flag("weighted"))
        addTo(evaluated, line, rank.rank, toJson(EvaluatedLoss{*sum, line.whole("targets", 0)}));
      if (line.kind() == "auxiliary_loss" && weight && gradient)
        addTo(auxiliary, line, rank.rank,
              toJson(AuxiliaryLoss{line.microbatch(), *weight, *gradient, line.flag("part")}));
    }
  for (const auto& [step, ranks] : evaluated)
    job.notes.push_back({evaluatedLossesKey(step), ranks.dump()});
  for (const auto& [step, ranks] : auxiliary)
    job.notes.push_back({auxiliaryLossesKey(step), ranks.dump()});
}

}  // namespace ringscope::traces
