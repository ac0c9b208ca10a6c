// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/imported.h"

#include <algorithm>

#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/schema/import_note.h"

namespace ringscope::traces {
namespace {

std::int64_t countIn(const nlohmann::json& note, const char* key) {
  const auto found = note.find(key);
  if (found == note.end() || !found->is_number_unsigned()) return 0;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(found->get<std::uint64_t>(), std::uint64_t{1} << 53));
}

std::string asText(const nlohmann::json& json) {
  return json.is_string() ? toPlainText(json.get<std::string>(), 1024) : "";
}

std::vector<std::string> textsIn(const nlohmann::json& note, const char* key) {
  constexpr std::size_t kMost = 64;
  std::vector<std::string> texts;
  const auto list = note.find(key);
  if (list == note.end() || !list->is_array()) return texts;
  for (std::size_t i = 0; i < std::min(list->size(), kMost); ++i)
    texts.push_back(asText((*list)[i]));
  return texts;
}

}  // namespace

std::optional<Imported> importedFrom(const Trace& trace) {
  const nlohmann::json& note = trace.note(kImportNote);
  if (!note.is_object() || !note.contains("format")) return std::nullopt;
  Imported imported;
  imported.format = asText(note["format"]);
  imported.collectives = countIn(note, "collectives");
  imported.messages = countIn(note, "messages");
  imported.unmatched_collectives = countIn(note, "unmatched_collectives");
  imported.unmatched_messages = countIn(note, "unmatched_messages");
  imported.standing = textsIn(note, "standing");
  imported.lacks = textsIn(note, "lacks");
  return imported;
}

std::string describe(const Imported& imported) {
  return imported.format + " · " + describeCount(imported.collectives, "collective") + " and " +
         describeCount(imported.messages, "message") + " matched over ranks, " +
         describeCount(imported.unmatched_collectives + imported.unmatched_messages, "call") +
         " without the others";
}

}  // namespace ringscope::traces
