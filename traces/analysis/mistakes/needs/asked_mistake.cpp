// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/needs/asked_mistake.h"

#include <charconv>
#include <sstream>
#include <string_view>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

std::optional<int> numberOf(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const std::string& text, const std::string& part) {
  throw usageError("--mistake " + text + ": '" + part +
                   "' says no place; write ID:rank=R,layer=L,step=S,buffer=NAME, any of them "
                   "once, numbers counted from 0");
}

}  // namespace

AskedMistake AskedMistake::parse(const std::string& text) {
  AskedMistake asked;
  const auto colon = text.find(':');
  asked.id = text.substr(0, colon);
  if (colon == std::string::npos) return asked;
  std::stringstream parts(text.substr(colon + 1));
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = part.find('=');
    const std::string what = part.substr(0, equals);
    if (what == "buffer" && asked.buffer.empty() && equals + 1 < part.size()) {
      asked.buffer = part.substr(equals + 1);
      continue;
    }
    std::optional<int>* place = what == "rank"    ? &asked.rank
                                : what == "layer" ? &asked.layer
                                : what == "step"  ? &asked.step
                                                  : nullptr;
    if (!place || place->has_value() || equals == std::string::npos) refuse(text, part);
    *place = numberOf(std::string_view(part).substr(equals + 1));
    if (!*place) refuse(text, part);
  }
  if (!asked.isLimited()) refuse(text, "");
  return asked;
}

std::string AskedMistake::places() const {
  std::string words;
  const auto add = [&](const char* what, const std::optional<int>& number) {
    if (number) words += (words.empty() ? "" : ", ") + (what + std::to_string(*number));
  };
  add("rank ", rank);
  add("layer ", layer);
  add("step ", step);
  if (!buffer.empty()) words += (words.empty() ? "buffer " : ", buffer ") + buffer;
  return words;
}

std::string AskedMistake::text() const {
  std::string places;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) places += (places.empty() ? ":" : ",") + (what + value);
  };
  const auto number = [](const std::optional<int>& of) { return of ? std::to_string(*of) : ""; };
  add("rank=", number(rank));
  add("layer=", number(layer));
  add("step=", number(step));
  add("buffer=", buffer);
  return id + places;
}

}  // namespace ringscope::traces
