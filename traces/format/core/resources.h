// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// The folder of the running program's executable.
std::string executableFolder();

/// The path of RingScope's program `name` in that folder; empty where it is not installed.
std::string programBeside(const std::string& name);

/// A file of resources/, looked for in $RINGSCOPE_RESOURCES, then beside and above the executable.
/// Throws inputError that says where it was looked for.
std::string resourcePath(const std::string& relative);

}  // namespace ringscope::traces
