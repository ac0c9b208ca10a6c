// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/utf8.h"

#include <cstddef>

namespace ringscope::traces {

namespace {

/// Returns the number of bytes of the character at the start of `text`; 0 when the bytes there are
/// not valid UTF-8.
std::size_t firstCharacter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  // The second byte alone identifies overlong forms, surrogates and code points above U+10FFFF.
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return size;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Reports whether a character is in C0, C1 or DEL. `character` must be valid UTF-8.
bool isControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const bool c1 = first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || c1;
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
    result += size > 0 ? text.substr(0, size) : kReplacement;
    text.remove_prefix(size > 0 ? size : 1);
  }
  return result;
}

std::string toPlainText(std::string_view text, std::size_t most_bytes) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= most_bytes) return result + "…";
    const std::size_t size = firstCharacter(text);
    const std::string_view character = text.substr(0, size);
    if (character == "\n" || character == "\t")
      result += ' ';
    else
      result += size > 0 && !isControl(character) ? character : kReplacement;
    text.remove_prefix(size > 0 ? size : 1);
  }
  return result;
}

bool isPlainText(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = firstCharacter(text);
    if (size == 0 || isControl(text.substr(0, size))) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace ringscope::traces
