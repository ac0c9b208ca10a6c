// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/lines/lines.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostTextBytes = 512;

std::string_view between(std::string_view quotes) {
  return quotes.substr(1, quotes.size() - 2);
}

std::string asText(const JsonValue& value) {
  if (value.type == JsonType::kPlainText && value.text.size() <= kMostTextBytes)
    return std::string(between(value.text));
  return toPlainText(nlohmann::json::parse(value.text).get<std::string>(), kMostTextBytes);
}

bool isText(JsonType type) {
  return type == JsonType::kPlainText || type == JsonType::kText;
}

WorldRank rankFor(const JsonValue& value) {
  return WorldRank::of(std::min<std::int64_t>(wholeNumber(value).value_or(-1), kMaxRanks));
}

/// Returns the pair of a list [b, e].
std::optional<std::pair<std::int64_t, std::int64_t>> pairOf(const JsonValue& value) {
  if (value.type != JsonType::kList) return std::nullopt;
  JsonItems items(value.text);
  const auto first = items.next(), second = items.next();
  if (!first || !second || items.next()) return std::nullopt;
  const auto begin = wholeNumber(*first), end = wholeNumber(*second);
  if (!begin || !end || *end < *begin) return std::nullopt;
  return std::pair(*begin, *end);
}

/// Calls `take` for each item of a list until it returns false.
template <typename Take>
void eachItem(const std::optional<JsonValue>& list, Take take) {
  if (!list || list->type != JsonType::kList) return;
  JsonItems items(list->text);
  while (const auto item = items.next())
    if (!take(*item)) return;
}

}  // namespace

Line::Line(std::shared_ptr<const std::string> whole, std::string_view text,
           std::vector<JsonField> fields)
    : whole_(std::move(whole)), text_(text), fields_(std::move(fields)) {
  if (const auto kind = at("line"); kind && isText(kind->type)) kind_ = between(kind->text);
}

Line::Line(const nlohmann::json& json)
    : Line(read(json.is_object() ? json.dump() : "{}", "a line")) {}

Line Line::read(std::shared_ptr<const std::string> whole, std::string_view text,
                const std::string& source) {
  static thread_local std::vector<JsonField> found;  // grows once; lines get a copy of the used
                                                     // part
  if (!readJsonFields(text, found)) {
    const auto json = parseJson(text, source);  // throws with a message about the error
    if (!json.is_object()) throw inputError(source + ": is no JSON object");
    whole = std::make_shared<const std::string>(json.dump());
    text = *whole;
    if (!readJsonFields(text, found)) throw inputError(source + ": cannot be read");
  }
  return {std::move(whole), text, std::vector<JsonField>(found.begin(), found.end())};
}

Line Line::read(std::string_view text, const std::string& source) {
  auto whole = std::make_shared<const std::string>(text);
  const std::string_view all(*whole);
  return read(std::move(whole), all, source);
}

std::optional<JsonValue> Line::at(std::string_view key) const {
  for (auto field = fields_.rbegin(); field != fields_.rend(); ++field)
    if (field->key_size == key.size() && text_.substr(field->key_begin, key.size()) == key)
      return JsonValue{text_.substr(field->value_begin, field->value_size), field->type};
  return std::nullopt;
}

bool Line::has(std::string_view key) const {
  const auto value = at(key);
  return value && value->type != JsonType::kNull;
}

std::int64_t Line::whole(std::string_view key, std::int64_t none) const {
  const auto value = at(key);
  return value ? wholeNumber(*value).value_or(none) : none;
}

std::optional<double> Line::real(std::string_view key) const {
  const auto value = at(key);
  double number = 0;
  if (!value || value->type != JsonType::kNumber) return std::nullopt;
  const auto end = value->text.data() + value->text.size();
  const bool fits = std::from_chars(value->text.data(), end, number).ec == std::errc();
  return fits ? std::optional(number) : std::nullopt;
}

bool Line::flag(std::string_view key) const {
  const auto value = at(key);
  return value && value->type == JsonType::kTrue;
}

std::string Line::text(std::string_view key) const {
  const auto value = at(key);
  return value && isText(value->type) ? asText(*value) : "";
}

std::optional<std::uint64_t> Line::hash(std::string_view key) const {
  const std::string digits = text(key);
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return std::strtoull(digits.c_str(), nullptr, 16);
}

Line Line::part(std::string_view key) const {
  const auto value = at(key);
  return value && value->type == JsonType::kObject ? read(whole_, value->text, "a part of a line")
                                                   : Line(nlohmann::json::object());
}

std::vector<Line> Line::parts(std::string_view key) const {
  std::vector<Line> all;
  eachItem(at(key), [&](const JsonValue& item) {
    if (item.type == JsonType::kObject) all.push_back(read(whole_, item.text, "a part of a line"));
    return true;
  });
  return all;
}

std::vector<std::int64_t> Line::wholes(std::string_view key) const {
  std::vector<std::int64_t> all;
  eachItem(at(key), [&](const JsonValue& item) {
    const auto number = wholeNumber(item);
    number ? all.push_back(*number) : all.clear();
    return number.has_value();
  });
  return all;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Line::pairs(std::string_view key) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  eachItem(at(key), [&](const JsonValue& item) {
    const auto pair = pairOf(item);
    pair ? all.push_back(*pair) : all.clear();
    return pair.has_value();
  });
  return all;
}

std::vector<std::string> Line::texts(std::string_view key) const {
  std::vector<std::string> all;
  eachItem(at(key), [&](const JsonValue& item) {
    if (isText(item.type)) all.push_back(asText(item));
    return true;
  });
  return all;
}

WorldRank Line::rank(std::string_view key) const {
  return rankFor(at(key).value_or(JsonValue{}));
}

std::vector<WorldRank> Line::ranks(std::string_view key) const {
  std::vector<WorldRank> all;
  eachItem(at(key), [&](const JsonValue& item) {
    all.push_back(rankFor(item));
    return true;
  });
  return all;
}

Place Line::place(Direction direction) const {
  Place place;
  place.train_step = static_cast<std::int32_t>(std::min<std::int64_t>(whole("step", 0), 1 << 30));
  place.layer = Layer::of(std::min<std::int64_t>(whole("layer"), 1 << 30));
  place.stage = RingStep::of(std::min<std::int64_t>(whole("ring_step"), 1 << 30));
  place.direction = direction;
  return place;
}

std::int32_t Line::microbatch() const {
  return static_cast<std::int32_t>(std::min<std::int64_t>(whole("microbatch", 0), 1 << 20));
}

}  // namespace ringscope::traces
