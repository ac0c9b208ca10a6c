// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ringscope::traces {

/// Whether a text is UTF-8 as the standard has it: no overlong forms, no surrogates, nothing beyond
/// U+10FFFF.
bool isUtf8(std::string_view text);

/// The text with every byte that does not belong replaced by U+FFFD: a path can be any bytes.
std::string toUtf8(std::string_view text);

/// The same, for one line of a terminal or a label: control characters, which a terminal would
/// obey, are replaced too, and what is longer than `most_bytes` ends with "…".
std::string toPlainText(std::string_view text, std::size_t most_bytes = 4096);

/// UTF-8 without control characters.
bool isPlainText(std::string_view text);

}  // namespace ringscope::traces
