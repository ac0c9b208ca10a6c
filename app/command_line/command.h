// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace ringscope::app {

/// Exit codes that scripts and the window rely on.
inline constexpr int kSuccess = 0;
inline constexpr int kAnswerIsNo = 1;
inline constexpr int kUsageOrInput = 2;
inline constexpr int kRunFailed = 3;

/// A subcommand of `ringscope`.
struct Command {
  const char* name;
  const char* description;  ///< its line in --help
  /// Adds options to `command`, and a callback that runs the command and sets `exit_code`.
  void (*define)(CLI::App& command, int& exit_code);
};

}  // namespace ringscope::app
