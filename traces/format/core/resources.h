// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// Returns the folder of the running program's executable.
std::string executableFolder();

/// Returns the path of RingScope's program `name` in that folder, or else in $RINGSCOPE_PROGRAMS.
/// The programs of wheels lie in other folders than the commands that start them. Returns an empty
/// text when the program is not installed.
std::string programBeside(const std::string& name);

/// Returns the path of a file of resources/. Searches $RINGSCOPE_RESOURCES, then the folders beside
/// and above the executable. Throws inputError that names the folders that were searched.
std::string resourcePath(const std::string& relative);

}  // namespace ringscope::traces
