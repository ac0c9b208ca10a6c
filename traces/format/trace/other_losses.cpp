// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/other_losses.h"

#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

/// Returns a rank's losses in a note.
template <typename Loss>
std::vector<Loss> lossesIn(const nlohmann::json& note, WorldRank rank,
                           Loss (*read)(const nlohmann::json&)) {
  std::vector<Loss> losses;
  const auto own = note.is_object() ? note.find(toString(rank)) : note.end();
  if (own == note.end() || !own->is_array()) return losses;
  for (const nlohmann::json& loss : *own)
    if (loss.is_object()) losses.push_back(read(loss));
  return losses;
}

}  // namespace

std::string evaluatedLossesKey(std::int32_t train_step) {
  return "evaluated." + std::to_string(train_step);
}

std::string auxiliaryLossesKey(std::int32_t train_step) {
  return "auxiliary." + std::to_string(train_step);
}

std::vector<EvaluatedLoss> evaluatedLosses(const Trace& trace, std::int32_t train_step,
                                           WorldRank rank) {
  return lossesIn<EvaluatedLoss>(
      trace.note(evaluatedLossesKey(train_step)), rank, [](const nlohmann::json& loss) {
        return EvaluatedLoss{numberIn(loss, "sum"), wholeIn(loss, "targets", 0)};
      });
}

std::vector<AuxiliaryLoss> auxiliaryLosses(const Trace& trace, std::int32_t train_step,
                                           WorldRank rank) {
  return lossesIn<AuxiliaryLoss>(
      trace.note(auxiliaryLossesKey(train_step)), rank, [](const nlohmann::json& loss) {
        const auto part = loss.find("part");
        return AuxiliaryLoss{stepIn(loss, "microbatch"), numberIn(loss, "weight"),
                             numberIn(loss, "gradient"),
                             part != loss.end() && part->is_boolean() && part->get<bool>()};
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
