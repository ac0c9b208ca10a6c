// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace ringscope::app {

/// A run whose ranks are processes of this machine.
struct RankProcesses {
  int ranks = 1;
  /// The longest time that a rank may spend without computing, waiting or being paused.
  std::chrono::milliseconds deadline{60'000};
  std::string trace;     ///< the file that the ranks record into; empty: none
  bool control = false;  ///< serve the control connection for the ranks
  std::string sealed;    ///< text for the file that the doctor cannot see
  bool held = false;     ///< the other side of the control connection says when the ranks start
};

/// Starts this program again as one process per rank, with `--launch processes` replaced by
/// `--launch env`, and supervises the processes (superviseRanks). Returns rank 0's exit code.
/// Throws runFailed that names the lost, failed or stuck rank.
int runRankProcesses(const RankProcesses& run);

}  // namespace ringscope::app
