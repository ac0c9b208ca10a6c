// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/kineto_event.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostArgument = 65'536;

std::optional<std::int64_t> wholeNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(number)
                                                                 : std::nullopt;
}

}  // namespace

std::optional<KinetoArgument> kinetoArgument(std::string_view name) {
  static constexpr std::array<std::string_view, kKinetoArguments> kNames = {
      "Collective name", "In msg nelems", "dtype",     "Process Group Name", "Process Group Ranks",
      "Src Rank",        "Dst Rank",      "Seq",       "External id",        "stream",
      "Concrete Inputs", "Input Dims",    "Input type"};
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<KinetoArgument>(found - kNames.begin());
}

std::optional<std::int64_t> kinetoNanoseconds(std::string_view text) {
  std::int64_t whole = 0, thousandths = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error != std::errc() || whole < 0 || whole >= kMostKinetoNs / 1000) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  if (text.empty()) return whole * 1000;
  if (text.front() != '.') return std::nullopt;
  for (std::size_t digit = 1; digit <= 3; ++digit) {
    const char c = digit < text.size() ? text[digit] : '0';
    if (c < '0' || c > '9') return std::nullopt;
    thousandths = thousandths * 10 + (c - '0');
  }
  return whole * 1000 + thousandths;
}

std::optional<std::int64_t> KinetoEvent::number(KinetoArgument argument) const {
  const std::string_view value = json(argument);
  if (value.size() < 2 || value.front() != '"') {
    const auto number = wholeNumber(value);
    return number && *number >> 62 <= 0 ? number : std::nullopt;
  }
  return wholeNumber(value.substr(1, value.size() - 2));
}

std::string KinetoEvent::text(KinetoArgument argument) const {
  const std::string_view value = json(argument);
  if (value.size() < 2 || value.front() != '"') return "";
  if (value.find('\\') == std::string_view::npos)
    return toPlainText(value.substr(1, value.size() - 2), kMostArgument);
  const auto parsed = nlohmann::json::parse(value, nullptr, false);
  return parsed.is_string() ? toPlainText(parsed.get_ref<const std::string&>(), kMostArgument) : "";
}

}  // namespace ringscope::traces
