// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace ringscope::app {

/// Runs this same command once a rank, as processes of this machine with --launch env, and
/// supervises them (superviseRanks). Returns rank 0's exit code; throws runFailed that names a lost
/// or stuck rank.
int runRankProcesses(int ranks, std::chrono::milliseconds deadline);

}  // namespace ringscope::app
