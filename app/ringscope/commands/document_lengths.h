// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringscope::app {

/// The largest number of tokens that are planned at once, so that the answer takes seconds.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 25;

/// The lengths of the documents of each packed sequence.
using DocumentLengths = std::vector<std::vector<std::int64_t>>;

/// Reads a file, or standard input for "-". The text has one length per line; blanks or commas can
/// also separate lengths, # begins a comment, and a line of --- begins the next packed sequence. A
/// text that begins with [ is JSON: a list of lengths, or a list of such lists. Throws inputError
/// that names the line.
DocumentLengths readDocumentLengths(const std::string& path);

}  // namespace ringscope::app
