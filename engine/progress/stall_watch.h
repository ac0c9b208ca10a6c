// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/progress/progress_board.h"
#include "traces/format/core/clock.h"

namespace ringscope::engine {

/// Finds ranks, threads or processes, that no longer get on, by what they report. A rank is stuck
/// when it has neither begun a stage nor computed for the deadline, is not paused and does not wait
/// for another; all are when they wait for each other that long. To compute is to use a hundredth
/// of a core: less is what a rank uses that only looks now and then.
class StallWatch {
 public:
  /// What a rank is to be called, or nothing when it has ended.
  using NameOf = std::function<std::string(traces::WorldRank rank)>;
  StallWatch(const ProgressBoard& board, int ranks, std::chrono::milliseconds deadline,
             NameOf name_of);

  /// A sentence that names the stuck rank, its stage and who waits for whom; empty: none is. To be
  /// asked several times a second; `now_ns` is steadyNow().
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
  std::int64_t deadline_ns_;
  NameOf name_of_;
  std::vector<Seen> seen_;
};

}  // namespace ringscope::engine
