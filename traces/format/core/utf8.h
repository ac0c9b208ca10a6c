// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ringscope::traces {

/// Reports whether a text is valid UTF-8: no overlong forms, no surrogates, no code point above
/// U+10FFFF.
bool isUtf8(std::string_view text);

/// Returns the text with every invalid byte replaced by U+FFFD. A path can contain any bytes.
std::string toUtf8(std::string_view text);

/// Returns the text for one line of a terminal or a label. Also replaces control characters, which
/// a terminal would obey. A text longer than `most_bytes` is cut and ends with "…".
std::string toPlainText(std::string_view text, std::size_t most_bytes = 4096);

/// Reports whether a text is valid UTF-8 without control characters.
bool isPlainText(std::string_view text);

}  // namespace ringscope::traces
