// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/other_losses.h"

#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {

std::string evaluatedLossesKey(std::int32_t train_step) {
  return "evaluated." + std::to_string(train_step);
}

std::string auxiliaryLossesKey(std::int32_t train_step) {
  return "auxiliary." + std::to_string(train_step);
}

std::vector<EvaluatedLoss> evaluatedLosses(const Trace& trace, std::int32_t train_step,
                                           WorldRank rank) {
  return objectsIn<EvaluatedLoss>(
      trace.note(evaluatedLossesKey(train_step)), toString(rank), [](const nlohmann::json& loss) {
        return EvaluatedLoss{numberIn(loss, "sum"), wholeIn(loss, "targets", 0)};
      });
}

std::vector<AuxiliaryLoss> auxiliaryLosses(const Trace& trace, std::int32_t train_step,
                                           WorldRank rank) {
  return objectsIn<AuxiliaryLoss>(
      trace.note(auxiliaryLossesKey(train_step)), toString(rank), [](const nlohmann::json& loss) {
        return AuxiliaryLoss{stepIn(loss, "microbatch"), numberIn(loss, "weight"),
                             numberIn(loss, "gradient"), flagIn(loss, "part")};
      });
}

nlohmann::json toJson(const EvaluatedLoss& loss) {
  return {{"sum", loss.sum}, {"targets", loss.targets}};
}

nlohmann::json toJson(const AuxiliaryLoss& loss) {
  return {{"microbatch", loss.microbatch},
          {"weight", loss.weight},
          {"gradient", loss.gradient},
          {"part", loss.part}};
}

}  // namespace ringscope::traces
