// SPDX-License-Identifier: Apache-2.0
#include "engine/progress/stall_watch.h"

#include <gtest/gtest.h>

namespace ringscope::engine {
namespace {

/// Whether a rank that uses this much CPU time in each 20 ms, and does nothing else, is stuck after
/// at most a second with a deadline of 400 ms.
bool isStuckWith(std::int64_t cpu_ns) {
  const ProgressBoard board(1);
  std::int64_t now = traces::steadyNow();
  StallWatch watch(board, 1, std::chrono::milliseconds(400),
                   [](traces::WorldRank) { return "rank 0"; });
  ProgressSlot& slot = board.slot(traces::WorldRank::of(0));
  for (int looks = 0; looks < 50; ++looks) {
    now += 20'000'000;
    slot.beat_ns = now;
    slot.cpu_ns += cpu_ns;
    if (!watch.stuck(now).empty()) return true;
  }
  return false;
}

TEST(StallWatchTest, ARankThatOnlyLooksNowAndThenIsStuckAndOneThatSharesItsCoreIsNot) {
  EXPECT_TRUE(isStuckWith(0));
  EXPECT_TRUE(isStuckWith(100'000)) << "a two-hundredth of a core";
  EXPECT_FALSE(isStuckWith(2'000'000)) << "a tenth of a core";
}

}  // namespace
}  // namespace ringscope::engine
