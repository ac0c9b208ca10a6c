// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::app {

/// Starts this same command once a rank with --launch env, RANK and its company set, and waits.
/// Rank 0 prints. When a rank dies the others are ended, and runFailed names it; nothing is left
/// behind, whoever dies: children end with their parent. Returns rank 0's exit code.
int runRankProcesses(int ranks);

}  // namespace ringscope::app
