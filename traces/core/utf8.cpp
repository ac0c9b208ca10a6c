// SPDX-License-Identifier: Apache-2.0
#include "traces/core/utf8.h"

#include <cstddef>

namespace ringscope::traces {

namespace {

/// Bytes of the character that a text begins with; 0 when it does not begin with one.
std::size_t firstCharacter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  // The second byte alone tells overlong forms, surrogates and what is beyond U+10FFFF.
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return size;
}

}  // namespace

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = firstCharacter(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string toUtf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = firstCharacter(text);
    result += size > 0 ? text.substr(0, size) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(size > 0 ? size : 1);
  }
  return result;
}

}  // namespace ringscope::traces
