// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::traces {

/// The sealed documents of a trace: what was injected, and the command line that says so. For
/// "Reveal" alone: nothing in doctor/, diff/ or query/ may include this header, which a test
/// checks. Throws inputError when the file cannot be read or a document is damaged.
std::vector<std::string> readSealed(const std::string& path);

}  // namespace ringscope::traces
