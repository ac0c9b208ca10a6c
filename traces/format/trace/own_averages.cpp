// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/own_averages.h"

#include <cmath>
#include <limits>

#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

/// Returns the numbers of a list; NaN for elements that are none.
std::vector<double> numbersIn(const nlohmann::json& object, const char* name) {
  std::vector<double> numbers;
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return numbers;
  for (const nlohmann::json& number : *at)
    numbers.push_back(number.is_number() ? number.get<double>()
                                         : std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

/// Returns a list in which null stands for NaN.
nlohmann::json listOf(const std::vector<double>& numbers) {
  nlohmann::json list = nlohmann::json::array();
  for (const double number : numbers)
    list.push_back(std::isfinite(number) ? nlohmann::json(number) : nlohmann::json());
  return list;
}

}  // namespace

std::string lossQuotientsKey(std::int32_t train_step) {
  return "quotients." + std::to_string(train_step);
}

std::string standardizedPartsKey(std::int32_t train_step) {
  return "standardized." + std::to_string(train_step);
}

std::vector<LossQuotient> lossQuotients(const Trace& trace, std::int32_t train_step,
                                        WorldRank rank) {
  return objectsIn<LossQuotient>(
      trace.note(lossQuotientsKey(train_step)), toString(rank), [](const nlohmann::json& quotient) {
        return LossQuotient{stepIn(quotient, "microbatch"), wholeIn(quotient, "tokens", 0),
                            numbersIn(quotient, "counts"), numbersIn(quotient, "gradients")};
      });
}

std::vector<StandardizedPart> standardizedParts(const Trace& trace, std::int32_t train_step,
                                                WorldRank rank) {
  return objectsIn<StandardizedPart>(
      trace.note(standardizedPartsKey(train_step)), toString(rank), [](const nlohmann::json& part) {
        return StandardizedPart{stepIn(part, "microbatch"), textIn(part, "name"),
                                textIn(part, "mask"), wholeIn(part, "count", 0)};
      });
}

std::string normsOfPartsKey(std::int32_t train_step) {
  return "norms_of_parts." + std::to_string(train_step);
}

std::vector<double> normsOfParts(const Trace& trace, std::int32_t train_step) {
  const nlohmann::json& note = trace.note(normsOfPartsKey(train_step));
  std::vector<double> norms;
  for (int rank = 0; note.is_object() && rank < trace.worldSize(); ++rank) {
    const double norm = numberIn(note, std::to_string(rank).c_str());
    if (!std::isfinite(norm)) return {};
    norms.push_back(norm);
  }
  return norms;
}

nlohmann::json toJson(const LossQuotient& quotient) {
  return {{"microbatch", quotient.microbatch},
          {"tokens", quotient.tokens},
          {"counts", listOf(quotient.counts)},
          {"gradients", listOf(quotient.gradients)}};
}

nlohmann::json toJson(const StandardizedPart& part) {
  return {{"microbatch", part.microbatch},
          {"name", part.name},
          {"mask", part.mask},
          {"count", part.count}};
}

}  // namespace ringscope::traces
