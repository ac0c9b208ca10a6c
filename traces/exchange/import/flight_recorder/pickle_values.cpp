// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/flight_recorder/pickle_values.h"

#include <stdexcept>
#include <string>

#include "traces/format/core/json.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostValues = 4'000'000;
/// Limit of the result in bytes, about. Values that are shared many times can make a small pickle
/// large.
constexpr std::size_t kMostBytes = 1'000'000'000, kBytesPerValue = 64;

}  // namespace

PickleValues::Id PickleValues::add(Kind kind) {
  if (values_.size() >= kMostValues)
    throw std::length_error("contains more than " + std::to_string(kMostValues) + " values");
  values_.emplace_back().kind = kind;
  return static_cast<Id>(values_.size() - 1);
}

PickleValues::Id PickleValues::addBool(bool is) {
  const Id id = add(Kind::kBool);
  values_[id].integer = is ? 1 : 0;
  return id;
}

PickleValues::Id PickleValues::addInteger(std::int64_t integer) {
  const Id id = add(Kind::kInteger);
  values_[id].integer = integer;
  return id;
}

PickleValues::Id PickleValues::addReal(double real) {
  const Id id = add(Kind::kReal);
  values_[id].real = real;
  return id;
}

PickleValues::Id PickleValues::addText(std::string_view text) {
  const Id id = add(Kind::kText);
  values_[id].text = text;
  return id;
}

void PickleValues::extend(Id container, const std::vector<Id>& items) {
  Value& value = values_[container];
  const std::size_t odd = value.kind == Kind::kDict ? items.size() % 2 : 0;
  value.items.insert(value.items.end(), items.begin(),
                     items.end() - static_cast<std::ptrdiff_t>(odd));
}

nlohmann::json PickleValues::toJson(Id id) const {
  std::size_t left = kMostBytes;
  return toJson(id, 1, left);
}

nlohmann::json PickleValues::toJson(Id id, int depth, std::size_t& left) const {
  const Value& value = values_[id];
  const std::size_t bytes = kBytesPerValue + value.text.size();
  if (depth > kMaxJsonDepth)
    throw std::length_error("is nested more than " + std::to_string(kMaxJsonDepth) +
                            " levels deep");
  if (bytes > left)
    throw std::length_error("would take more than " + std::to_string(kMostBytes) + " bytes");
  left -= bytes;
  switch (value.kind) {
    case Kind::kNone:
      return nullptr;
    case Kind::kBool:
      return value.integer != 0;
    case Kind::kInteger:
      // A parsed text has its natural numbers without a sign too.
      if (value.integer >= 0) return static_cast<std::uint64_t>(value.integer);
      return value.integer;
    case Kind::kReal:
      return value.real;
    case Kind::kText:
      return std::string(value.text);
    case Kind::kList: {
      nlohmann::json list = nlohmann::json::array();
      for (const Id item : value.items) list.push_back(toJson(item, depth + 1, left));
      return list;
    }
    case Kind::kDict:
      break;
  }
  nlohmann::json dict = nlohmann::json::object();
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
    if (const Value& key = values_[value.items[i]]; key.kind == Kind::kText)
      dict[std::string(key.text)] = toJson(value.items[i + 1], depth + 1, left);
  return dict;
}

}  // namespace ringscope::traces
