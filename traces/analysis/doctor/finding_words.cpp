// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/finding_words.h"

#include <algorithm>
#include <stdexcept>

namespace ringscope::traces {

std::string fillIn(const std::string& text, const NamedValues& values) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t open = 0; (open = text.find('{', at)) != std::string::npos;) {
    const std::size_t close = text.find('}', open);
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto value = std::ranges::find(values, name, &NamedValues::value_type::first);
    if (value == values.end()) throw std::logic_error("no value for {" + name + "}");
    filled += text.substr(at, open - at) + value->second;
    at = close + 1;
  }
  return filled + text.substr(at);
}

}  // namespace ringscope::traces
