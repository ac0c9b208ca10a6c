// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/asserted_types.h"

#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

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
    if (type.is_object()) asserted.axes[axis] = {textIn(type, "type"), ranksIn(type, "members")};
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
