// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/own_parameters.h"

namespace ringscope::traces {

OwnParameters ownParameters(const Trace& trace) {
  OwnParameters own;
  const nlohmann::json& note = trace.note(kOwnParametersNote);
  if (!note.is_object()) return own;
  if (const auto names = note.find("names"); names != note.end() && names->is_array())
    for (const nlohmann::json& name : *names)
      if (name.is_string()) own.names.insert(name.get<std::string>());
  const auto unlike = note.find("unlike_groups");
  own.unlike_groups = unlike != note.end() && unlike->is_boolean() && unlike->get<bool>();
  return own;
}

nlohmann::json toJson(const OwnParameters& own) {
  return {{"names", own.names}, {"unlike_groups", own.unlike_groups}};
}

}  // namespace ringscope::traces
