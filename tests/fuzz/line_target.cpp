// SPDX-License-Identifier: Apache-2.0
// One line of a recorded rank's file: its fields must be those that the JSON library finds.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "traces/exchange/lines/lines.h"
#include "traces/format/core/json.h"

namespace {

using namespace ringscope::traces;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The last field of each key, as Line takes it.
void compare(const Line& line, const nlohmann::json& json) {
  for (const auto& [key, value] : json.items()) {
    // A key that is written with escapes is none that is asked for.
    if (nlohmann::json(key).dump() != '"' + key + '"' || key.size() > 1000 ||
        line.written().find('"' + key + '"') == std::string_view::npos)
      continue;
    if (line.has(key)) require(!value.is_null());
    if (line.flag(key)) require(value == true);
    if (const auto number = line.whole(key); number >= 0) require(value == number);
    if (const auto real = line.real(key)) require(value == *real);
    for (const std::int64_t number : line.wholes(key)) require(number >= 0);
    require(line.parts(key).size() <= value.size());
    line.text(key);
    line.texts(key);
    line.pairs(key);
    line.ranks(key);
    line.hash(key);
    if (value.is_object()) compare(line.part(key), value);
  }
  line.place(Direction::kForward);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<JsonField> fields;
  const bool is_read = readJsonFields(text, fields);
  try {
    const nlohmann::json json = parseJson(text, "it");
    // The library passes over a byte order mark, and over all after a zero.
    const bool is_odd = text.starts_with("\xEF\xBB\xBF") || text.find('\0') != text.npos;
    require(is_read == json.is_object() || is_odd);
    if (json.is_object()) compare(Line::read(text, "it"), json);
  } catch (const ringscope::Error&) {
    require(!is_read);
  }
  return 0;
}
