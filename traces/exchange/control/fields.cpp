// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/control/fields.h"

#include <cmath>
#include <utility>

#include "traces/format/core/error.h"

namespace ringscope::traces::control {

using nlohmann::json;

Fields::Fields(const json& object, std::string what) : object_(&object), what_(std::move(what)) {
  if (!object.is_object()) throw inputError(what_ + " must be a JSON object");
}

void Fields::refuse(const std::string& key, const std::string& must_be) const {
  throw inputError("\"" + key + "\" of " + what_ + " must be " + must_be);
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items()) keys.push_back(key);
  return keys;
}

const json* Fields::find(const char* key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const json& Fields::at(const char* key, const char* must_be) const {
  const json* found = find(key);
  if (!found) refuse(key, must_be);
  return *found;
}

std::int64_t Fields::signedWithin(const char* key, std::int64_t low, std::int64_t high) const {
  const json* found = find(key);
  const bool fits =
      found && found->is_number_integer() &&
      (!found->is_number_unsigned() || std::in_range<std::int64_t>(found->get<std::uint64_t>()));
  const std::int64_t value = fits ? found->get<std::int64_t>() : 0;
  if (!fits || value < low || value > high)
    refuse(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

std::uint64_t Fields::unsignedWithin(const char* key, std::uint64_t high) const {
  const json* found = find(key);
  const bool fits = found && found->is_number_integer() &&
                    (found->is_number_unsigned() || found->get<std::int64_t>() >= 0);
  if (!fits || found->get<std::uint64_t>() > high)
    refuse(key, "an integer from 0 to " + std::to_string(high));
  return found->get<std::uint64_t>();
}

double Fields::number(const char* key, std::optional<double> otherwise) const {
  if (!has(key) && otherwise) return *otherwise;
  const json& value = at(key, "a number");
  if (!value.is_number()) refuse(key, "a number");
  return value.get<double>();
}

bool Fields::flag(const char* key, std::optional<bool> otherwise) const {
  if (!has(key) && otherwise) return *otherwise;
  const json& value = at(key, "true or false");
  if (!value.is_boolean()) refuse(key, "true or false");
  return value.get<bool>();
}

std::string Fields::text(const char* key, std::optional<std::string> otherwise) const {
  if (!has(key) && otherwise) return *otherwise;
  const json& value = at(key, "text");
  if (!value.is_string()) refuse(key, "text");
  return value.get<std::string>();
}

const json::array_t& Fields::list(const char* key, const char* must_be) const {
  static const json::array_t kNone;
  const json* found = find(key);
  if (!found) return kNone;
  if (!found->is_array()) refuse(key, must_be);
  return found->get_ref<const json::array_t&>();
}

std::vector<std::int64_t> Fields::integers(const char* key) const {
  constexpr const char* kMustBe = "a list of integers";
  std::vector<std::int64_t> integers;
  for (const json& value : list(key, kMustBe)) {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())))
      refuse(key, kMustBe);
    integers.push_back(value.get<std::int64_t>());
  }
  return integers;
}

std::vector<std::string> Fields::texts(const char* key) const {
  constexpr const char* kMustBe = "a list of texts";
  std::vector<std::string> texts;
  for (const json& value : list(key, kMustBe)) {
    if (!value.is_string()) refuse(key, kMustBe);
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

std::vector<double> Fields::numbers(const char* key) const {
  constexpr const char* kMustBe = "a list of numbers, \"nan\", \"inf\" or \"-inf\"";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> numbers;
  for (const json& value : list(key, kMustBe)) {
    if (value.is_number())
      numbers.push_back(value.get<double>());
    else if (value == "nan")
      numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    else if (value == "inf" || value == "-inf")
      numbers.push_back(value == "inf" ? kInfinity : -kInfinity);
    else
      refuse(key, kMustBe);
  }
  return numbers;
}

std::vector<Fields> Fields::objects(const char* key) const {
  std::vector<Fields> objects;
  for (const json& value : list(key, "a list of objects"))
    objects.emplace_back(value, "an entry of \"" + std::string(key) + "\" of " + what_);
  return objects;
}

Fields Fields::object(const char* key) const {
  return {at(key, "an object"), "\"" + std::string(key) + "\" of " + what_};
}

std::optional<Place> Fields::place(const char* key) const {
  if (!has(key)) return std::nullopt;
  const Fields fields = object(key);
  const auto direction = findByName<Direction>(fields.text("direction"));
  if (!direction) fields.refuse("direction", "forward or backward");
  return Place{fields.integer<std::int32_t>("train_step"),
               Layer::of(fields.integer<std::int32_t>("layer")), *direction,
               RingStep::of(fields.integer<std::int32_t>("stage"))};
}

json toJson(const std::optional<Place>& place) {
  if (!place) return {};
  return {{"train_step", place->train_step},
          {"layer", place->layer.value()},
          {"direction", name(place->direction)},
          {"stage", place->stage.value()},
          {"text", describe(*place)}};
}

json toJson(const std::vector<double>& numbers) {
  json list = json::array();
  for (const double value : numbers) {
    if (std::isfinite(value))
      list.push_back(value);
    else
      list.push_back(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
  return list;
}

}  // namespace ringscope::traces::control
