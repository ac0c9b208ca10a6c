// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "traces/format/schema/fields.h"

namespace ringscope::traces {

/// The value of one row and column: empty, an integer, a real, a static string, or a text.
using Cell = std::variant<std::monostate, std::int64_t, double, const char*, std::string>;

/// One column of a table of records: the offset of its value in a record, and its conversion to a
/// cell.
struct Column {
  std::string name;     ///< the field's name
  std::string type;     ///< SQLite type: INTEGER, REAL, TEXT
  std::string meaning;  ///< a clause for the user
  std::string values;   ///< for an enumeration: "attend, send, …"
  std::size_t offset = 0;
  Cell (*read)(const void* field) = nullptr;

  Cell of(const void* record) const { return read(static_cast<const char*>(record) + offset); }
};

/// Converts a value to a cell. An id that is none becomes NULL, an enumeration its name, and a list
/// JSON.
template <typename T>
Cell cellFor(const T& value) {
  if constexpr (NamedEnum<T>) {
    return name(value);
  } else if constexpr (IsId<T>::value) {
    return value.isNone() ? Cell() : Cell(std::int64_t{value.value()});
  } else if constexpr (Scalar<T>) {
    return toInteger(value);
  } else if constexpr (IsVector<T>::value) {
    return toJson(value).dump();
  } else if constexpr (IsOptional<T>::value) {
    return value ? cellFor(*value) : Cell();
  } else {
    return value;
  }
}

template <typename T>
const char* columnType() {
  if constexpr (IsOptional<T>::value)
    return columnType<typename T::value_type>();
  else if constexpr (Scalar<T> && !NamedEnum<T>)
    return "INTEGER";
  else
    return std::is_same_v<T, double> ? "REAL" : "TEXT";
}

/// The names of columns and their meanings.
using Meanings = std::vector<std::pair<std::string_view, const char*>>;

/// Returns the columns of a record, one per leaf of its fields, in the order of the format. Leaves
/// out fields that `meanings` does not name.
template <typename Record>
std::vector<Column> columnsFor(const Meanings& meanings) {
  std::vector<Column> columns;
  Record record;
  const auto take = [&](const auto& self, const char* field, auto& value) -> void {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (HasFields<T> && !NamedEnum<T>) {
      Fields<T>::visit([&](const char* leaf, auto& part) { self(self, leaf, part); }, value);
    } else {
      Column column{field, columnType<T>(),
                    "",    "",
                    0,     [](const void* at) { return cellFor(*static_cast<const T*>(at)); }};
      column.offset = static_cast<std::size_t>(reinterpret_cast<const char*>(&value) -
                                               reinterpret_cast<const char*>(&record));
      if constexpr (NamedEnum<T>)
        for (const std::string& one : allNames<T>())
          column.values += (column.values.empty() ? "" : ", ") + one;
      for (const auto& [named, meaning] : meanings)
        if (named == field) column.meaning = meaning;
      if (!column.meaning.empty()) columns.push_back(std::move(column));
    }
  };
  Fields<Record>::visit([&](const char* field, auto& value) { take(take, field, value); }, record);
  return columns;
}

}  // namespace ringscope::traces
