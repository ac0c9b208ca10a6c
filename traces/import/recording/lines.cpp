// SPDX-License-Identifier: Apache-2.0
#include "traces/import/recording/lines.h"

#include <algorithm>
#include <cstdlib>

#include "traces/core/error.h"
#include "traces/core/utf8.h"
#include "traces/query/admission.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kMostExact = std::int64_t{1} << 53;

std::optional<std::int64_t> wholeOf(const nlohmann::json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= kMostExact)
    return static_cast<std::int64_t>(value.get<std::uint64_t>());
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
      value.get<std::int64_t>() <= kMostExact)
    return value.get<std::int64_t>();
  return std::nullopt;
}

}  // namespace

const nlohmann::json* Line::at(const char* key) const {
  const auto found = json_.is_object() ? json_.find(key) : json_.end();
  return found == json_.end() ? nullptr : &*found;
}

bool Line::has(const char* key) const {
  const nlohmann::json* value = at(key);
  return value && !value->is_null();
}

std::int64_t Line::whole(const char* key, std::int64_t none) const {
  const nlohmann::json* value = at(key);
  return value ? wholeOf(*value).value_or(none) : none;
}

std::optional<double> Line::real(const char* key) const {
  const nlohmann::json* value = at(key);
  return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

bool Line::flag(const char* key) const {
  const nlohmann::json* value = at(key);
  return value && value->is_boolean() && value->get<bool>();
}

std::string Line::text(const char* key) const {
  const nlohmann::json* value = at(key);
  return value && value->is_string() ? toPlainText(value->get<std::string>(), 512) : "";
}

std::optional<std::uint64_t> Line::hash(const char* key) const {
  const std::string digits = text(key);
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return std::strtoull(digits.c_str(), nullptr, 16);
}

Line Line::part(const char* key) const {
  const nlohmann::json* value = at(key);
  return Line(value && value->is_object() ? *value : nlohmann::json::object());
}

std::vector<std::int64_t> Line::wholes(const char* key) const {
  std::vector<std::int64_t> all;
  const nlohmann::json* value = at(key);
  if (!value || !value->is_array()) return all;
  for (const auto& item : *value) {
    const auto number = wholeOf(item);
    if (!number) return {};
    all.push_back(*number);
  }
  return all;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Line::pairs(const char* key) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  const nlohmann::json* value = at(key);
  if (!value || !value->is_array()) return all;
  for (const auto& item : *value) {
    if (!item.is_array() || item.size() != 2) return {};
    const auto begin = wholeOf(item[0]), end = wholeOf(item[1]);
    if (!begin || !end || *end < *begin) return {};
    all.emplace_back(*begin, *end);
  }
  return all;
}

std::vector<std::string> Line::texts(const char* key) const {
  std::vector<std::string> all;
  const nlohmann::json* value = at(key);
  if (!value || !value->is_array()) return all;
  for (const auto& item : *value)
    if (item.is_string()) all.push_back(toPlainText(item.get<std::string>(), 512));
  return all;
}

WorldRank Line::rank(const char* key) const {
  return WorldRank::of(std::min<std::int64_t>(whole(key), kMaxRanks));
}

std::vector<WorldRank> Line::ranks(const char* key) const {
  std::vector<WorldRank> all;
  const nlohmann::json* value = at(key);
  if (!value || !value->is_array()) return all;
  all.reserve(value->size());
  for (const auto& item : *value)
    all.push_back(WorldRank::of(std::min<std::int64_t>(wholeOf(item).value_or(-1), kMaxRanks)));
  return all;
}

std::vector<WorldRank> RankLines::membersOf(const std::string& group) const {
  const auto found = std::ranges::find_if(lines, [&](const Line& line) {
    return line.kind() == "group" && line.text("name") == group;
  });
  return found == lines.end() ? std::vector<WorldRank>() : found->ranks("members");
}

Place Line::place(Direction direction) const {
  Place place;
  place.train_step = static_cast<std::int32_t>(std::min<std::int64_t>(whole("step", 0), 1 << 30));
  place.layer = Layer::of(std::min<std::int64_t>(whole("layer"), 1 << 30));
  place.stage = RingStep::of(std::min<std::int64_t>(whole("ring_step"), 1 << 30));
  place.direction = direction;
  return place;
}

}  // namespace ringscope::traces
