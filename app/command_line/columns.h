// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

namespace ringscope::app {

/// Returns the number of columns that UTF-8 text takes if each code point takes one column.
inline std::size_t countColumns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Pads `text` with spaces on the left (alignRight) or right (alignLeft) to at least `columns`
/// columns. std::setw cannot be used: it counts bytes, and "µ" and "×" have two.
inline std::string alignRight(const std::string& text, std::size_t columns) {
  return std::string(columns - std::min(columns, countColumns(text)), ' ') + text;
}
inline std::string alignLeft(const std::string& text, std::size_t columns) {
  return text + std::string(columns - std::min(columns, countColumns(text)), ' ');
}

}  // namespace ringscope::app
