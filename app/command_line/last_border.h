// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::app {

/// Installs handlers for failures that no exception handler sees: an exception that leaves a thread
/// or a destructor, and a library that calls exit(). With a memory limit (ulimit -v), the handlers
/// also cover a library that aborts or uses memory that it was refused. Each handler ends the
/// program with one sentence on stderr and the exit code of a failure. A crash without a memory
/// limit stays a crash. main() calls this function once.
void guardEnds();
/// Marks that a run has started. Later failures have the exit code of a failed run.
void runStarts();
/// Returns the exit code of a failure: kRunFailed (3) once a run has started, else kUsageOrInput
/// (2).
int failureCode();
/// Marks that main() returns, so that the exit() which follows is not reported.
void returnsByItself();

}  // namespace ringscope::app
