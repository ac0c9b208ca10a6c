// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// The type of a JSON value. kPlainText is a string of printable ASCII without escapes, which can
/// be used as written.
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

/// A value as it is written; a string includes its quotes.
struct JsonValue {
  std::string_view text;
  JsonType type = JsonType::kNull;
};

/// The location of a field of an object. The key is counted without its quotes.
struct JsonField {
  std::uint32_t key_begin, value_begin, value_size;
  std::uint16_t key_size;
  JsonType type;
};

/// Finds the fields of the object in `text`, in their order, without building a document. Checks
/// the whole text as parseJson() does. Returns false when it is no object or cannot be read in this
/// way; `fields` is then undefined.
bool readJsonFields(std::string_view text, std::vector<JsonField>& fields);

/// The items of a list that is part of a checked text.
class JsonItems {
 public:
  explicit JsonItems(std::string_view list) : rest_(list.substr(1)) {}
  /// Returns the next item; nullopt at the end.
  std::optional<JsonValue> next();

 private:
  std::string_view rest_;
};

/// Returns an integer from 0 to 2^53; nullopt for everything else, including a number with a
/// fraction or an exponent.
std::optional<std::int64_t> wholeNumber(const JsonValue& value);

}  // namespace ringscope::traces
