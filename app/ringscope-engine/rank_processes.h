// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace ringscope::app {

/// A run whose ranks are processes of this machine.
struct RankProcesses {
  int ranks = 1;
  /// How long a rank may neither compute nor wait nor be paused.
  std::chrono::milliseconds deadline{60'000};
  std::string trace;     ///< what they record, in one file; empty: none
  bool control = false;  ///< speak the control connection for them
  std::string sealed;    ///< for the file, where the doctor cannot see it
  bool held = false;     ///< the other side of it says when they start
};

/// Starts this program again as one process a rank, with `--launch processes` turned into `--launch
/// env`, and supervises them (superviseRanks). Returns rank 0's exit code; throws runFailed that
/// names a lost, failed or stuck rank.
int runRankProcesses(const RankProcesses& run);

}  // namespace ringscope::app
