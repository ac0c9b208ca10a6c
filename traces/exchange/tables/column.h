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

/// What stands in one row and column: nothing, an integer, a real, a name that is never freed, a
/// text.
using Cell = std::variant<std::monostate, std::int64_t, double, const char*, std::string>;

/// One column of a table of records: where in a record its value is, and how it becomes a cell.
struct Column {
  std::string name;     ///< as the field's
  std::string type;     ///< SQLite's: INTEGER, REAL, TEXT
  std::string meaning;  ///< a clause for the user
  std::string values;   ///< "attend, send, …" of an enumeration
  std::size_t offset = 0;
  Cell (*read)(const void* field) = nullptr;

  Cell of(const void* record) const { return read(static_cast<const char*>(record) + offset); }
};

/// Ids that are none are NULL; enumerations are their names; lists are JSON.
template <typename T>
Cell cellOf(const T& value) {
  if constexpr (NamedEnum<T>) {
    return name(value);
  } else if constexpr (IsId<T>::value) {
    return value.isNone() ? Cell() : Cell(std::int64_t{value.value()});
  } else if constexpr (Scalar<T>) {
    return toInteger(value);
  } else if constexpr (IsVector<T>::value) {
    return toJson(value).dump();
  } else if constexpr (IsOptional<T>::value) {
    return value ? cellOf(*value) : Cell();
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

/// A column's name and what it means.
using Meanings = std::vector<std::pair<std::string_view, const char*>>;

/// The columns of a record: a leaf of its fields each, by the field's name, in the order of the
/// format; only those that `meanings` names.
template <typename Record>
std::vector<Column> columnsOf(const Meanings& meanings) {
  std::vector<Column> columns;
  Record record;
  const auto take = [&](const auto& self, const char* field, auto& value) -> void {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (HasFields<T> && !NamedEnum<T>) {
      Fields<T>::visit([&](const char* leaf, auto& part) { self(self, leaf, part); }, value);
    } else {
      Column column{field, columnType<T>(),
                    "",    "",
                    0,     [](const void* at) { return cellOf(*static_cast<const T*>(at)); }};
      column.offset = static_cast<std::size_t>(reinterpret_cast<const char*>(&value) -
                                               reinterpret_cast<const char*>(&record));
      if constexpr (NamedEnum<T>)
        for (const std::string& one : namesOf<T>())
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
