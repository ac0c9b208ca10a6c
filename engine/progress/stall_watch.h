// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/progress/progress_board.h"
#include "traces/format/core/clock.h"

namespace ringscope::engine {

/// A detector of stuck ranks, threads or processes, by their progress reports. A rank is stuck if
/// for the deadline it has not begun a stage, computed, been paused or waited for another rank. All
/// ranks are stuck if they wait for each other that long. A rank computes if it uses at least a
/// hundredth of a core; a rank that only polls uses less. With more than four ranks per core the
/// threshold falls in proportion.
class StallWatch {
 public:
  /// A function that returns a rank's name for messages, or an empty string for a rank that has
  /// ended.
  using NameOf = std::function<std::string(traces::WorldRank rank)>;
  StallWatch(const ProgressBoard& board, int ranks, std::chrono::milliseconds deadline,
             NameOf name_of, int cores = static_cast<int>(std::thread::hardware_concurrency()));

  /// Returns a sentence that names the stuck rank, its stage and who waits for whom; empty: no rank
  /// is stuck. Call it several times per second. `now_ns` is steadyNow().
  std::string stuck(std::int64_t now_ns = traces::steadyNow());

 private:
  struct Seen {
    std::uint64_t epoch = 0;
    std::int64_t cpu_ns = 0, moved_ns = 0;
  };
  bool moves(traces::WorldRank rank, std::int64_t now);
  std::vector<traces::WorldRank> ranks() const;
  std::string whoWaits() const;

  const ProgressBoard& board_;
  std::int64_t deadline_ns_, idle_divisor_;
  NameOf name_of_;
  std::vector<Seen> seen_;
};

}  // namespace ringscope::engine
