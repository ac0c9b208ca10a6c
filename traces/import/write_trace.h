// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::traces {

/// Opens a recording of any format and writes it as a .rscope file, which appears when it is whole.
/// Returns what could not be read and is left out. Throws inputError.
std::vector<std::string> writeTrace(const std::string& recording, const std::string& output);

}  // namespace ringscope::traces
