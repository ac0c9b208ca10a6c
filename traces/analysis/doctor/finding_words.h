// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ringscope::traces {

/// The words of a finding that rests on a reading. `{name}` in the evidence stands for a value of
/// the reading.
struct FindingWords {
  const char *title, *evidence, *remedy;
};

/// The values that an evidence can name.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the text with each `{name}` replaced by its value. Throws std::logic_error for a name
/// without a value.
std::string fillIn(const std::string& text, const NamedValues& values);

}  // namespace ringscope::traces
