// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/shell_word.h"

namespace ringscope::traces {

std::string quoteWord(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

}  // namespace ringscope::traces
