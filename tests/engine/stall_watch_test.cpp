// SPDX-License-Identifier: Apache-2.0
#include "engine/progress/stall_watch.h"

#include <gtest/gtest.h>

namespace ringscope::engine {
namespace {

/// Whether a rank that uses this much CPU time in each 20 ms, and does nothing else, is stuck after
/// at most a second with a deadline of 400 ms.
bool isStuckWith(std::int64_t cpu_ns, int ranks = 1) {
  const ProgressBoard board(ranks);
  std::int64_t now = traces::steadyNow();
  StallWatch watch(
      board, ranks, std::chrono::milliseconds(400),
      [](traces::WorldRank rank) { return rank.value() == 0 ? "rank 0" : ""; }, 2);
  ProgressSlot& slot = board.slot(traces::WorldRank::of(0));
  for (int looks = 0; looks < 50; ++looks) {
    now += 20'000'000;
    slot.beat_ns = now;
    slot.cpu_ns += cpu_ns;
    if (!watch.stuck(now).empty()) return true;
  }
  return false;
}

TEST(StallWatchTest, AnIdlePollingRankIsStuckAndABusySharedRankIsNot) {
  EXPECT_TRUE(isStuckWith(0));
  EXPECT_TRUE(isStuckWith(100'000)) << "a two-hundredth of a core";
  EXPECT_FALSE(isStuckWith(2'000'000)) << "a tenth of a core";
}

TEST(StallWatchTest, ARankThatSharesItsCoreWithManyOthersIsNotStuck) {
  EXPECT_FALSE(isStuckWith(100'000, 64)) << "a two-hundredth of a core, 32 ranks per core";
  EXPECT_TRUE(isStuckWith(0, 64));
}

TEST(StallWatchTest, WhoWaitsForWhomIsSaidByRanksOfTheWholeRun) {
  const ProgressBoard board(4);
  const std::int64_t now = traces::steadyNow();
  StallWatch watch(board, 4, std::chrono::milliseconds(400),
                   [](traces::WorldRank rank) { return "rank " + toString(rank); });
  const std::int64_t later = now + 500'000'000;
  for (int rank = 0; rank < 4; ++rank) board.slot(traces::WorldRank::of(rank)).beat_ns = later;
  board.slot(traces::WorldRank::of(2)).waiting = Waiting{true, traces::WorldRank::of(3)};
  board.slot(traces::WorldRank::of(0)).waiting = Waiting{true, traces::WorldRank::none()};
  board.slot(traces::WorldRank::of(1)).paused = 1;
  EXPECT_EQ(watch.stuck(now), "");
  const std::string sentence = watch.stuck(later);
  EXPECT_TRUE(sentence.starts_with("rank 3 is stuck")) << sentence;
  EXPECT_NE(sentence.find("rank 2 waits for rank 3"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("rank 0 waits for its group"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace ringscope::engine
