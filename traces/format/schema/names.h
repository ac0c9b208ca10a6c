// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/format/core/error.h"

namespace ringscope::traces {

/// The names of an enumeration's values as they stand in files, in options and on screen.
/// Specialise it beside the enumeration: `kWhat` says in one word what a value is, `kNames` are the
/// names in the order of the values. The enumeration's values are 0, 1, 2 … and end with kCount.
template <typename E>
struct EnumNames;

template <typename E>
concept NamedEnum = requires {
  EnumNames<E>::kWhat;
  EnumNames<E>::kNames;
};

template <NamedEnum E>
inline constexpr std::size_t kValueCount = static_cast<std::size_t>(E::kCount);

template <NamedEnum E>
constexpr const char* name(E value) {
  static_assert(EnumNames<E>::kNames.size() == kValueCount<E>);
  return EnumNames<E>::kNames[static_cast<std::size_t>(value)];
}

/// Nothing when no value has this name.
template <NamedEnum E>
std::optional<E> findByName(std::string_view text) {
  for (std::size_t i = 0; i < kValueCount<E>; ++i)
    if (EnumNames<E>::kNames[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

template <NamedEnum E>
std::vector<std::string> namesOf() {
  return {EnumNames<E>::kNames.begin(), EnumNames<E>::kNames.end()};
}

/// "there is no strategy 'x'; use ring, all_gather, ulysses or hybrid": what every part of the
/// program says of a name that it does not know.
std::string unknownName(std::string_view what, std::string_view asked,
                        const std::vector<std::string>& known);

/// The entry of a list whose name, by `name_of`, is `asked`. Throws usageError when there is none.
template <typename List, typename NameOf>
const auto& entryNamed(std::string_view what, std::string_view asked, const List& list,
                       NameOf name_of) {
  std::vector<std::string> known;
  for (const auto& entry : list) {
    known.emplace_back(name_of(entry));
    if (known.back() == asked) return entry;
  }
  throw usageError(unknownName(what, asked, known));
}

/// Throws usageError when no value has this name.
template <NamedEnum E>
E parse(std::string_view text) {
  if (const auto found = findByName<E>(text)) return *found;
  throw usageError(unknownName(EnumNames<E>::kWhat, text, namesOf<E>()));
}

/// Throws inputError when `value` is none of the enumeration's; for what is read from a file.
template <NamedEnum E>
E checkedEnum(std::int64_t value) {
  if (value < 0 || value >= static_cast<std::int64_t>(kValueCount<E>))
    throw inputError("the trace holds an unknown " + std::string(EnumNames<E>::kWhat) + " (" +
                     std::to_string(value) + ")");
  return static_cast<E>(value);
}

}  // namespace ringscope::traces
