// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/schema/chunk.h"

namespace ringscope::test {

/// Returns the name of a field's type in FORMAT.md.
template <typename T>
std::string typeName();

/// Returns the fields of a record in the order of the format: "layer integer, direction direction,
/// …".
template <typename Record>
std::string fieldList() {
  std::string list;
  Record record;
  traces::Fields<Record>::visit(
      [&]<typename V>(const char* field, V&) {
        list += (list.empty() ? "" : ", ") + std::string(field) + " " + typeName<V>();
      },
      record);
  return list;
}

template <typename T>
std::string typeName() {
  using namespace traces;
  if constexpr (NamedEnum<T>)
    return "(" + std::string(EnumNames<T>::kWhat) + ")";
  else if constexpr (Scalar<T>)
    return "int";
  else if constexpr (std::is_same_v<T, double>)
    return "real";
  else if constexpr (std::is_same_v<T, std::string>)
    return "text";
  else if constexpr (std::is_same_v<T, Bytes>)
    return "bytes";
  else if constexpr (IsVector<T>::value)
    return "list of " + typeName<typename T::value_type>();
  else if constexpr (IsOptional<T>::value)
    return "optional " + typeName<typename T::value_type>();
  else
    return "{" + fieldList<T>() + "}";
}

/// Returns the line of FORMAT.md's table for the chunks of a record.
template <typename Record>
std::string formatLine() {
  using traces::ChunkOf;
  return "| " + std::to_string(static_cast<int>(ChunkOf<Record>::kKind)) + " " +
         name(ChunkOf<Record>::kKind) + " | " + (ChunkOf<Record>::kColumns ? "columns" : "rows") +
         " | " + fieldList<Record>() + " |";
}

/// Returns the line of FORMAT.md's table for an enumeration.
template <traces::NamedEnum E>
std::string enumLine() {
  std::string line = "| " + std::string(traces::EnumNames<E>::kWhat) + " |";
  for (std::size_t i = 0; i < traces::kValueCount<E>; ++i)
    line += " " + std::to_string(i) + " " + name(static_cast<E>(i)) +
            (i + 1 < traces::kValueCount<E> ? "," : "");
  return line + " |";
}

}  // namespace ringscope::test
