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

/// The fields of one JSON object that came over a connection, each read as the type that it must
/// have. Throws inputError that names the field and what it must be. An absent field and null are
/// the same.
class Fields {
 public:
  /// `what` is what errors call the object. It outlives this. Throws when it is no object.
  Fields(const nlohmann::json& object, std::string what);

  const std::string& what() const { return what_; }
  bool has(const char* key) const { return find(key) != nullptr; }
  /// The names of all fields.
  std::vector<std::string> keys() const;

  /// An integer that T can hold; `otherwise` when there is none.
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
  /// Empty when there is none.
  std::vector<std::int64_t> integers(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  /// Numbers, of which JSON has not all: "nan", "inf" and "-inf" are words. Empty when there is
  /// none.
  std::vector<double> numbers(const char* key) const;
  /// The objects of a list; empty when there is none. They lie in this object.
  std::vector<Fields> objects(const char* key) const;
  Fields object(const char* key) const;
  /// As toJson() writes it; nothing when there is none.
  std::optional<Place> place(const char* key) const;

  /// What every error of a wrong type says: `key` of this object must be `must_be`.
  [[noreturn]] void refuse(const std::string& key, const std::string& must_be) const;

 private:
  const nlohmann::json* find(const char* key) const;
  /// Throws unless the field is there.
  const nlohmann::json& at(const char* key, const char* must_be) const;
  /// The elements of a list; none when it is absent.
  const nlohmann::json::array_t& list(const char* key, const char* must_be) const;
  std::int64_t signedWithin(const char* key, std::int64_t low, std::int64_t high) const;
  std::uint64_t unsignedWithin(const char* key, std::uint64_t high) const;

  const nlohmann::json* object_;
  std::string what_;
};

/// A place with its text: {"train_step", "layer", "direction", "stage", "text"}; null for nothing.
nlohmann::json toJson(const std::optional<Place>& place);
/// Numbers as Fields::numbers() reads them.
nlohmann::json toJson(const std::vector<double>& numbers);

}  // namespace ringscope::traces::control
