// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// kPlainText: printable ASCII without an escape, so that it says what stands between its quotes.
enum class JsonType : std::uint8_t {
  kNull,
  kFalse,
  kTrue,
  kNumber,
  kPlainText,
  kText,
  kList,
  kObject
};

/// A value as it is written, a text with its quotes.
struct JsonValue {
  std::string_view text;
  JsonType type = JsonType::kNull;
};

/// Where a field of an object is written; its key between the quotes.
struct JsonField {
  std::uint32_t key_begin, value_begin, value_size;
  std::uint16_t key_size;
  JsonType type;
};

/// Finds the fields of the object that `text` is, in their order, and makes no document of them.
/// The whole text is checked as parseJson() does it. False where it is no object, or not to be read
/// in this way; `fields` is then of no use.
bool readJsonFields(std::string_view text, std::vector<JsonField>& fields);

/// Goes through the items of a list, which is part of a text that was checked.
class JsonItems {
 public:
  explicit JsonItems(std::string_view list) : rest_(list.substr(1)) {}
  /// Nothing at the end.
  std::optional<JsonValue> next();

 private:
  std::string_view rest_;
};

/// A whole number from 0 to 2^53; nothing for everything else, a number with a fraction or an
/// exponent too.
std::optional<std::int64_t> wholeNumber(const JsonValue& value);

}  // namespace ringscope::traces
