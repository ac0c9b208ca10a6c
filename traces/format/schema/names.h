// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/format/core/error.h"

namespace ringscope::traces {

/// The names of an enumeration's values in files, in options and on screen. Specialise it beside
/// the enumeration: `kWhat` names the kind of value in a word or two, and `kNames` lists the names
/// in the order of the values. The enumeration's values are 0, 1, 2 … and end with kCount.
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

/// Returns the value of this name; nullopt when there is none.
template <NamedEnum E>
std::optional<E> findByName(std::string_view text) {
  for (std::size_t i = 0; i < kValueCount<E>; ++i)
    if (EnumNames<E>::kNames[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

template <NamedEnum E>
std::vector<std::string> allNames() {
  return {EnumNames<E>::kNames.begin(), EnumNames<E>::kNames.end()};
}

/// Returns the message about an unknown name: "there is no strategy 'x'; use ring, all_gather,
/// ulysses or hybrid". Every part of the program uses this message.
std::string unknownName(std::string_view what, std::string_view asked,
                        const std::vector<std::string>& known);

/// Returns the list entry whose name, as `name_of` gives it, is `asked`. Throws usageError when
/// there is none.
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

/// Returns the value of this name. Throws usageError when there is none.
template <NamedEnum E>
E parse(std::string_view text) {
  if (const auto found = findByName<E>(text)) return *found;
  throw usageError(unknownName(EnumNames<E>::kWhat, text, allNames<E>()));
}

/// Converts an integer from a file. Throws inputError when the enumeration has no such value.
template <NamedEnum E>
E checkedEnum(std::int64_t value) {
  if (value < 0 || value >= static_cast<std::int64_t>(kValueCount<E>))
    throw inputError("the trace holds an unknown " + std::string(EnumNames<E>::kWhat) + " (" +
                     std::to_string(value) + ")");
  return static_cast<E>(value);
}

}  // namespace ringscope::traces
