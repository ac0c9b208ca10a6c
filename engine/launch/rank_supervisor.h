// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// How rank processes are started: this program again with `arguments`, and an environment as
/// torchrun sets it.
struct RankLaunch {
  int ranks = 1;
  std::vector<std::string> arguments;  ///< argv, the program's name first
  /// How long a rank may neither compute nor wait nor be paused, or all may wait for each other.
  std::chrono::milliseconds deadline{60'000};
  std::function<void(traces::WorldRank rank)>
      in_child;                   ///< called in each child before it becomes its rank
  std::function<void()> started;  ///< called here when all have been started
};

/// Starts the ranks, which meet at a socket that only this machine reaches and that the first of
/// them is handed, watches them by pidfd and heartbeat, and returns rank 0's exit code when all
/// have ended by themselves. When one dies, fails or is stuck, the others are ended within a second
/// (asked first, so that their traces are whole) and runFailed says which rank it was, what became
/// of it, and its step and operation. What the ranks print on stderr is kept back: that of rank 0
/// follows when all went well, that of the failed rank is in the error. SIGINT and SIGTERM are
/// passed on, the ranks close their traces, and that counts as all well.
int superviseRanks(const RankLaunch& launch);

}  // namespace ringscope::engine
