// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::app {

/// Turns this process into ringscope-engine with the same arguments, so that whoever started it
/// keeps its process id, descriptors and exit code. Throws usageError when the engine is not
/// installed.
[[noreturn]] void becomeEngine(char** argv);

/// Turns this process into the window. Throws usageError when it is not installed.
[[noreturn]] void becomeWindow(const std::vector<std::string>& arguments);

}  // namespace ringscope::app
