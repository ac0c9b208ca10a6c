// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/place.h"

namespace ringscope::traces::control {

/// The fields of a JSON object that was received over a connection. Each field is read as the type
/// that it must have. A wrong type throws inputError that names the field and the required type. An
/// absent field and null are equivalent.
class Fields {
 public:
  /// Wraps `object`, which must outlive this. Errors call it `what`. Throws inputError when it is
  /// no object.
  Fields(const nlohmann::json& object, std::string what);

  const std::string& what() const { return what_; }
  bool has(const char* key) const { return find(key) != nullptr; }
  /// Returns the names of all fields.
  std::vector<std::string> keys() const;

  /// Returns an integer that T can hold; `otherwise` when the field is absent.
  template <std::integral T>
  T integer(const char* key, std::optional<T> otherwise = std::nullopt) const {
    using Limits = std::numeric_limits<T>;
    if (!has(key) && otherwise) return *otherwise;
    if constexpr (std::unsigned_integral<T>)
      return static_cast<T>(unsignedWithin(key, Limits::max()));
    else
      return static_cast<T>(signedWithin(key, Limits::min(), Limits::max()));
  }
  double number(const char* key, std::optional<double> otherwise = std::nullopt) const;
  bool flag(const char* key, std::optional<bool> otherwise = std::nullopt) const;
  std::string text(const char* key, std::optional<std::string> otherwise = std::nullopt) const;
  /// Return the items of a list; empty when the field is absent.
  std::vector<std::int64_t> integers(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  /// Returns the numbers of a list; empty when the field is absent. JSON has no NaN and no
  /// infinities, so they are the strings "nan", "inf" and "-inf".
  std::vector<double> numbers(const char* key) const;
  /// Returns the objects of a list; empty when the field is absent. They refer to this object.
  std::vector<Fields> objects(const char* key) const;
  Fields object(const char* key) const;
  /// Returns a place as toJson() writes it; nullopt when the field is absent.
  std::optional<Place> place(const char* key) const;

  /// Throws the error of a wrong type: `key` of this object must be `must_be`.
  [[noreturn]] void refuse(const std::string& key, const std::string& must_be) const;

 private:
  const nlohmann::json* find(const char* key) const;
  /// Returns a field. Throws inputError when it is absent.
  const nlohmann::json& at(const char* key, const char* must_be) const;
  /// Returns the elements of a list; none when the field is absent.
  const nlohmann::json::array_t& list(const char* key, const char* must_be) const;
  std::int64_t signedWithin(const char* key, std::int64_t low, std::int64_t high) const;
  std::uint64_t unsignedWithin(const char* key, std::uint64_t high) const;

  const nlohmann::json* object_;
  std::string what_;
};

/// Returns a place with its text as JSON: {"train_step", "layer", "direction", "stage", "text"};
/// null for nullopt.
nlohmann::json toJson(const std::optional<Place>& place);
/// Returns numbers as JSON that Fields::numbers() reads.
nlohmann::json toJson(const std::vector<double>& numbers);

}  // namespace ringscope::traces::control
