// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/observed_model.h"

#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {

std::optional<OutputProjection> findOutputProjection(const Trace& trace) {
  const nlohmann::json& note = trace.note(kProjectionNote);
  if (!note.is_object()) return std::nullopt;
  const auto name = note.find("parameter");
  if (name == note.end() || !name->is_string()) return std::nullopt;
  return OutputProjection{name->get<std::string>(), flagIn(note, "tied")};
}

std::string describeUnwatched(const Trace& trace) {
  const nlohmann::json& note = trace.note(kUnwatchedNote);
  if (!note.is_array() || note.empty()) return "";
  const auto& first = note.front();
  if (!first.is_array() || first.size() != 2 || !first[0].is_string() || !first[1].is_string())
    return "";
  const auto others = static_cast<std::int64_t>(note.size()) - 1;
  return toPlainText(first[0].get<std::string>() + " (" + first[1].get<std::string>() + ")") +
         (others > 0 ? " and " + describeCount(others, "other module") + " mix" : " mixes") +
         " tokens without attention. This is not watched: mistakes at the borders of shards there "
         "cannot be seen.";
}

}  // namespace ringscope::traces
