// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::traces {

/// Returns the sealed documents of a trace: the injected mistakes and the command line that names
/// them. Only "Reveal" may use this function: nothing in doctor/, diff/ or query/ may include this
/// header, which a test checks. Throws inputError when the file cannot be read or a document is
/// damaged.
std::vector<std::string> readSealed(const std::string& path);

}  // namespace ringscope::traces
