// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// The values of a pickle. A pickle can refer to one value from several places, so that values are
/// kept once and known by their index. Texts are views into the pickle.
class PickleValues {
 public:
  using Id = std::uint32_t;
  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kReal, kText, kList, kDict };

  Id add(Kind kind);
  Id addBool(bool is);
  Id addInteger(std::int64_t integer);
  Id addReal(double real);
  Id addText(std::string_view text);
  Kind kind(Id id) const { return values_[id].kind; }
  /// Appends to a list, or appends keys and values in turn to a dict. A key at the end without a
  /// value is left out.
  void extend(Id container, const std::vector<Id>& items);

  /// Returns a value as JSON. A shared value is copied to every place. Throws std::length_error
  /// with the reason when the result would be too deep or too large.
  nlohmann::json toJson(Id id) const;

 private:
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text;
    std::vector<Id> items;  ///< of a list; keys and values in turn of a dict
  };

  nlohmann::json toJson(Id id, int depth, std::size_t& left) const;

  std::vector<Value> values_;
};

}  // namespace ringscope::traces
