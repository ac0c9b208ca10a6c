// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ringscope::traces {

/// Returns the text as one word of a shell's command line.
std::string quoteWord(std::string_view text);

}  // namespace ringscope::traces
