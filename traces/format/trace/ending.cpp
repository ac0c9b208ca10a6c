// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/ending.h"

#include <algorithm>
#include <optional>

#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

/// Returns the ending that a note describes; nullopt when the note does not say how the run ended.
std::optional<Ending> parsed(const nlohmann::json& note) {
  const auto text = [&](const char* key) {
    const auto found = note.is_object() ? note.find(key) : note.end();
    return found != note.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto how = findByName<HowEnded>(text("how"));
  if (!how) return std::nullopt;
  Ending ending{*how, toPlainText(text("reason"))};
  const auto until = note.find("whole_until");
  if (until != note.end() && until->is_number_unsigned())
    ending.whole_until = static_cast<std::int32_t>(
        std::min<std::uint64_t>(until->get<std::uint64_t>(), std::uint64_t{1} << 30));
  return ending;
}

}  // namespace

Ending findEnding(const Trace& trace) {
  Ending worst;
  if (!trace.end()) worst = {HowEnded::kCut, "it was killed or is still going on"};
  for (const nlohmann::json* note : trace.notes(kEndedNote))
    if (const auto ending = parsed(*note); ending && ending->how >= worst.how) worst = *ending;
  return worst;
}

std::string describe(const Ending& ending) {
  std::string reason = ending.reason.empty() ? "" : ": " + ending.reason;
  if (const std::int32_t until = ending.whole_until.value_or(0); until > 0)
    reason += "; training step" +
              (until == 1 ? std::string(" 0 is") : "s 0 to " + std::to_string(until - 1) + " are") +
              " recorded to the end";
  switch (ending.how) {
    case HowEnded::kFinished:
      return "the run finished";
    case HowEnded::kStopped:
      return "the run was stopped";
    case HowEnded::kCut:
      return "the recording was cut" + reason;
    case HowEnded::kFailed:
      return "the run failed" + reason;
    case HowEnded::kCount:
      break;
  }
  return "";
}

std::string endedNote(const Ending& ending) {
  nlohmann::json note = {{"how", name(ending.how)}, {"reason", ending.reason}};
  if (ending.whole_until) note["whole_until"] = *ending.whole_until;
  return note.dump();
}

}  // namespace ringscope::traces
