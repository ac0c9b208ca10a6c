// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/lines/json_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "traces/format/core/json.h"

namespace ringscope::traces {
namespace {

/// The characters that stand for themselves within a string.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// A scanner that reads JSON once and checks it. After a function has failed, its position is
/// undefined.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  bool atEnd() const { return at_ == end_; }

  void skipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool skipValue(JsonType& type, int depth) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"':
        return skipText(type);
      case '{':
        type = JsonType::kObject;
        return skipAll('}', depth + 1, [&](int inner) { return skipField(inner); });
      case '[':
        type = JsonType::kList;
        return skipAll(']', depth + 1, [&](int inner) {
          JsonType item;
          return skipValue(item, inner);
        });
      case 't':
        return skipWord("true", JsonType::kTrue, type);
      case 'f':
        return skipWord("false", JsonType::kFalse, type);
      case 'n':
        return skipWord("null", JsonType::kNull, type);
      default:
        type = JsonType::kNumber;
        return skipNumber();
    }
  }

  bool skipText(JsonType& type) {
    const char* begin = at_;
    if (!take('"')) return false;
    while (at_ != end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
    type = JsonType::kPlainText;
    if (take('"')) return true;
    type = JsonType::kText;
    for (; at_ != end_ && *at_ != '"'; ++at_)
      if (*at_ == '\\' && ++at_ == end_) return false;
    return take('"') && nlohmann::json::accept(begin, at_);
  }

 private:
  /// Skips an object or a list; `skip` skips its parts.
  template <typename Skip>
  bool skipAll(char close, int depth, Skip skip) {
    if (depth > kMaxJsonDepth) return false;
    ++at_;
    skipSpace();
    if (take(close)) return true;
    while (true) {
      skipSpace();
      if (!skip(depth)) return false;
      skipSpace();
      if (take(close)) return true;
      if (!take(',')) return false;
    }
  }

  bool skipField(int depth) {
    JsonType type;
    if (!skipText(type)) return false;
    skipSpace();
    if (!take(':')) return false;
    skipSpace();
    return skipValue(type, depth);
  }

  bool skipWord(std::string_view word, JsonType is, JsonType& type) {
    type = is;
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }

  bool skipDigits() {
    const char* begin = at_;
    while (at_ != end_ && isDigit(*at_)) ++at_;
    return at_ != begin;
  }

  /// Skips a number. A long number, which could be too large for a double, is checked by nlohmann's
  /// parser.
  bool skipNumber() {
    const char* begin = at_;
    take('-');
    if (!take('0') && !skipDigits()) return false;
    if (take('.') && !skipDigits()) return false;
    constexpr std::ptrdiff_t kShort = 200, kShortExponent = 2;
    const char* exponent = at_;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      exponent = at_;
      if (!skipDigits()) return false;
    }
    const bool is_short = at_ - begin <= kShort && at_ - exponent <= kShortExponent;
    return is_short || nlohmann::json::accept(begin, at_);
  }

  const char *begin_, *at_, *end_;
};

}  // namespace

bool readJsonFields(std::string_view text, std::vector<JsonField>& fields) {
  fields.clear();
  if (text.size() > std::min<std::size_t>(kMaxJsonBytes, std::numeric_limits<std::uint32_t>::max()))
    return false;
  JsonScanner scan(text);
  const auto position = [&] { return static_cast<std::uint32_t>(scan.offset()); };
  scan.skipSpace();
  if (!scan.take('{')) return false;
  scan.skipSpace();
  bool more = !scan.take('}');
  while (more) {
    scan.skipSpace();
    JsonField field{};
    field.key_begin = position() + 1;
    if (!scan.skipText(field.type)) return false;
    field.key_size = static_cast<std::uint16_t>(
        std::min<std::uint32_t>(position() - 1 - field.key_begin, 0xFFFF));
    scan.skipSpace();
    if (!scan.take(':')) return false;
    scan.skipSpace();
    field.value_begin = position();
    if (!scan.skipValue(field.type, 1)) return false;
    field.value_size = position() - field.value_begin;
    fields.push_back(field);
    scan.skipSpace();
    more = scan.take(',');
    if (!more && !scan.take('}')) return false;
  }
  scan.skipSpace();
  return scan.atEnd();
}

std::optional<JsonValue> JsonItems::next() {
  JsonScanner scan(rest_);
  scan.skipSpace();
  scan.take(',');
  scan.skipSpace();
  JsonValue item;
  const std::size_t begin = scan.offset();
  if (scan.atEnd() || rest_[begin] == ']' || !scan.skipValue(item.type, 1)) return std::nullopt;
  item.text = rest_.substr(begin, scan.offset() - begin);
  rest_.remove_prefix(scan.offset());
  return item;
}

std::optional<std::int64_t> wholeNumber(const JsonValue& value) {
  constexpr std::int64_t kMostExact = std::int64_t{1} << 53;
  std::int64_t number = 0;
  const char* end = value.text.data() + value.text.size();
  if (value.type != JsonType::kNumber) return std::nullopt;
  const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
  const bool whole = error == std::errc() && stopped == end && number >= 0 && number <= kMostExact;
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace ringscope::traces
