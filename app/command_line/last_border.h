// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::app {

/// The border that no failure crosses unsaid, for what no handler sees: an exception that leaves a
/// thread or a destructor, a library that calls exit(), and, where memory is limited (ulimit -v), a
/// library that aborts or uses what it was refused. Each ends the program with one sentence and the
/// exit code of a failure. A crash without such a limit stays a crash. Called once, by main().
void guardEnds();
/// From here on a failure is that of a run.
void runStarts();
/// Of a failure now: 3 once a run has started, else 2.
int failureCode();
/// main() returns; exit() is no surprise any more.
void returnsByItself();

}  // namespace ringscope::app
