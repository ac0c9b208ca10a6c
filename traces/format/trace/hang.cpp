// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/hang.h"

#include <cctype>
#include <chrono>
#include <cstdio>

#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"
#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostHangs = 16, kMostLines = 64, kMostLetters = 1024;

std::int64_t amountIn(const nlohmann::json& json, const char* key, std::int64_t most) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return 0;
  const auto number = found->get<std::uint64_t>();
  return number <= static_cast<std::uint64_t>(most) ? static_cast<std::int64_t>(number) : 0;
}

/// Formats a time: "2026-11-27 03:04:05 UTC".
std::string timeWords(std::int64_t unix_ns) {
  namespace chrono = std::chrono;
  const auto time = chrono::floor<chrono::seconds>(
      chrono::sys_time<chrono::nanoseconds>(chrono::nanoseconds(unix_ns)));
  const auto midnight = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(midnight);
  const chrono::hh_mm_ss clock(time - midnight);
  char text[96];
  const int length = std::snprintf(
      text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d UTC", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text, static_cast<std::size_t>(length)};
}

std::string capitalized(std::string sentence) {
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence;
}

}  // namespace

nlohmann::json toJson(const Hang& hang) {
  return {{"by_listener", hang.by_listener}, {"certain", hang.certain},
          {"different", hang.different},     {"rank", toJson(hang.rank)},
          {"train_step", hang.train_step},   {"waited_ns", hang.waited_ns},
          {"unix_ns", hang.unix_ns},         {"lines", hang.lines}};
}

std::optional<Hang> hangFrom(const nlohmann::json& json) {
  const auto lines = json.is_object() ? json.find("lines") : json.end();
  if (lines == json.end() || !lines->is_array()) return std::nullopt;
  Hang hang;
  for (const nlohmann::json& line : *lines)
    if (line.is_string() && !line.get<std::string>().empty() && hang.lines.size() < kMostLines)
      hang.lines.push_back(toPlainText(line.get<std::string>(), kMostLetters));
  if (hang.lines.empty()) return std::nullopt;
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  hang.by_listener = flagIn(json, "by_listener");
  hang.certain = flagIn(json, "certain");
  hang.different = flagIn(json, "different");
  if (json.contains("rank") && json["rank"].is_number_unsigned())
    hang.rank = WorldRank::of(static_cast<int>(amountIn(json, "rank", kMaxRanks - 1)));
  hang.train_step = static_cast<std::int32_t>(amountIn(json, "train_step", 1 << 30));
  hang.waited_ns = amountIn(json, "waited_ns", kMost);
  hang.unix_ns = amountIn(json, "unix_ns", kMost);
  return hang;
}

std::string hangNote(const std::vector<Hang>& hangs) {
  nlohmann::json list = nlohmann::json::array();
  for (const Hang& hang : hangs) list.push_back(toJson(hang));
  return list.dump();
}

std::vector<Hang> findHangs(const Trace& trace) {
  std::vector<Hang> hangs;
  const nlohmann::json& note = trace.note(kHangNote);
  if (!note.is_array()) return hangs;
  for (const nlohmann::json& one : note)
    if (auto hang = hangFrom(one); hang && hangs.size() < kMostHangs)
      hangs.push_back(*std::move(hang));
  return hangs;
}

std::string describe(const Hang& hang) {
  std::string words;
  if (hang.by_listener) {
    words = "The listener concluded";
    if (hang.unix_ns > 0) words += " at " + timeWords(hang.unix_ns);
    words += " while the job ran: ";
  }
  for (const std::string& line : hang.lines) {
    if (line.starts_with("  "))
      words += "; " + line.substr(2);
    else if (line != hang.lines.front())
      words += ". " + capitalized(line);
    else
      words += hang.by_listener ? line : capitalized(line);
  }
  return words + ".";
}

}  // namespace ringscope::traces
