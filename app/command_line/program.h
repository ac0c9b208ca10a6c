// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "app/command_line/command.h"
#include "traces/format/core/error.h"

namespace ringscope::app {

/// Prints the failure as one sentence on stderr and returns its exit code.
int report(const Error& error);

/// Implements main() of ringscope and ringscope-engine: parses the command line, runs one of
/// `commands` and returns its exit code. Both programs call themselves ringscope. Failures are
/// reported, not thrown.
int runProgram(int argc, char** argv, std::span<const Command> commands);

}  // namespace ringscope::app
