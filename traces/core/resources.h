// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// The folder of the running program's executable.
std::string executableFolder();

/// A file of resources/, looked for in $RINGSCOPE_RESOURCES, then beside and above the executable.
/// Throws inputError that says where it was looked for.
std::string resourcePath(const std::string& relative);

}  // namespace ringscope::traces
