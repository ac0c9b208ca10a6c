// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <iterator>

#include "traces/exchange/tables/column.h"

namespace ringscope::traces {

/// Returns a cell as text for people and for CSV. Reals have the shortest digits that give the same
/// number. An empty cell gives `none`.
inline std::string asText(const Cell& cell, const char* none) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* name = std::get_if<const char*>(&cell)) return *name;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* real = std::get_if<double>(&cell);
  if (!real) return none;
  char digits[40];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), *real);
  return {std::begin(digits), end.ptr};
}

}  // namespace ringscope::traces
