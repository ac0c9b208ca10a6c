// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::app {

/// Replaces this process by ringscope-engine with the same arguments. The caller keeps the process
/// id, the descriptors and the exit code. Throws usageError when the engine is not installed.
[[noreturn]] void becomeEngine(char** argv);

/// Replaces this process by the window. Throws usageError when the window is not installed.
[[noreturn]] void becomeWindow(const std::vector<std::string>& arguments);

}  // namespace ringscope::app
