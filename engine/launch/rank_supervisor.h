// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// The way to start rank processes: this program with `arguments`, and environment variables like
/// torchrun's.
struct RankLaunch {
  int ranks = 1;
  std::vector<std::string> arguments;  ///< argv, the program's name first
  /// The longest time that a rank may spend without computing, waiting or being paused. It also
  /// limits how long all ranks may wait for each other.
  std::chrono::milliseconds deadline{60'000};
  std::function<void(traces::WorldRank rank)>
      in_child;                   ///< called in each child before it becomes its rank
  std::function<void()> started;  ///< called in the supervisor after all children were started
};

/// Starts the ranks, watches them by pidfd and heartbeat, and returns rank 0's exit code when all
/// have ended by themselves. The ranks meet at a socket that only this machine can reach, and which
/// the first rank serves.
///
/// If a rank dies, fails or is stuck, the others end within a second; they are asked first, so that
/// their traces are complete. The function then throws runFailed with the rank, what happened, its
/// step and its operation. The stderr of the ranks is held back: rank 0's is printed after a
/// success, and the failed rank's is part of the error. SIGINT and SIGTERM are passed on: the ranks
/// close their traces, and the run counts as a success.
int superviseRanks(const RankLaunch& launch);

}  // namespace ringscope::engine
