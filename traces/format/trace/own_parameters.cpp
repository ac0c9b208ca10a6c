// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/own_parameters.h"

#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {

OwnParameters ownParameters(const Trace& trace) {
  OwnParameters own;
  const nlohmann::json& note = trace.note(kOwnParametersNote);
  if (!note.is_object()) return own;
  if (const auto names = note.find("names"); names != note.end() && names->is_array())
    for (const nlohmann::json& name : *names)
      if (name.is_string()) own.names.insert(name.get<std::string>());
  own.unlike_groups = flagIn(note, "unlike_groups");
  return own;
}

nlohmann::json toJson(const OwnParameters& own) {
  return {{"names", own.names}, {"unlike_groups", own.unlike_groups}};
}

}  // namespace ringscope::traces
