// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace ringscope::app {

/// Exit codes that others rely on.
inline constexpr int kSuccess = 0;
inline constexpr int kAnswerIsNo = 1;
inline constexpr int kUsageOrInput = 2;
inline constexpr int kRunFailed = 3;

/// Each adds one subcommand; its callback sets `exit_code`. A new command is a file here and a line
/// in main.cpp.
void addAttend(CLI::App& app, int& exit_code);
void addBench(CLI::App& app, int& exit_code);
void addDiff(CLI::App& app, int& exit_code);
void addDoctor(CLI::App& app, int& exit_code);
void addGui(CLI::App& app, int& exit_code);
void addInfo(CLI::App& app, int& exit_code);
void addMerge(CLI::App& app, int& exit_code);
void addMistakes(CLI::App& app, int& exit_code);
void addTrain(CLI::App& app, int& exit_code);

}  // namespace ringscope::app
