// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/asserted_types.h"

#include "traces/format/trace/admission.h"
#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

std::vector<WorldRank> readMembers(const nlohmann::json& object) {
  std::vector<WorldRank> members;
  const auto list = object.find("members");
  if (list == object.end() || !list->is_array()) return members;
  for (const nlohmann::json& rank : *list)
    if (rank.is_number_integer() && rank.get<std::int64_t>() >= 0 &&
        rank.get<std::int64_t>() < kMaxRanks)
      members.push_back(WorldRank::of(rank.get<std::int32_t>()));
  return members;
}

AssertedType readAsserted(const nlohmann::json& object) {
  AssertedType asserted{stepIn(object, "microbatch"),
                        textIn(object, "name"),
                        textIn(object, "dtype"),
                        textIn(object, "shape"),
                        {},
                        textIn(object, "hash")};
  const auto axes = object.find("axes");
  if (axes == object.end() || !axes->is_object()) return asserted;
  for (const auto& [axis, type] : axes->items())
    if (type.is_object()) asserted.axes[axis] = {textIn(type, "type"), readMembers(type)};
  return asserted;
}

}  // namespace

std::vector<AssertedType> assertedTypes(const Trace& trace, std::int32_t train_step,
                                        WorldRank rank) {
  return objectsIn<AssertedType>(trace.note(assertedTypesKey(train_step)), toString(rank),
                                 readAsserted);
}

std::string assertedTypesKey(std::int32_t train_step) {
  return "asserted_types." + std::to_string(train_step);
}

}  // namespace ringscope::traces
