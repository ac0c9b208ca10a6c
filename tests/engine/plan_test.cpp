// SPDX-License-Identifier: Apache-2.0
// Index maths and schedules: pure functions, no tensors.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/attention/schedule.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::engine {
namespace {

TEST(ShardLayoutTest, HeadTailEqualsPyTorchsTables) {
  std::ifstream in(test::reference("sharding.json"));
  int compared = 0;
  for (const auto& row : nlohmann::json::parse(in)) {
    if (row["balance"] != "head_tail") continue;
    const ShardLayout layout(row["length"], row["cp_size"], Balance::kHeadTail);
    EXPECT_EQ(layout.rearrange(), row["indices"].get<std::vector<std::int64_t>>());
    EXPECT_EQ(layout.restore(), row["restore"].get<std::vector<std::int64_t>>());
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(ShardLayoutTest, EveryTokenHasOneOwner) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail})
    for (const int cp : {1, 2, 3, 4, 8}) {
      const ShardLayout layout(48, cp, balance);
      const auto order = layout.rearrange();
      EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 48u);
      const auto back = layout.restore();
      for (std::size_t g = 0; g < 48; ++g)
        EXPECT_EQ(order[static_cast<std::size_t>(back[g])], static_cast<std::int64_t>(g));
    }
}

TEST(ShardLayoutTest, ALengthThatDoesNotDivideIsRefusedWithOnesThatDo) {
  EXPECT_ERROR(ShardLayout(130, 4, Balance::kHeadTail), ErrorCode::kUsage, "such as 128 or 136");
  EXPECT_ERROR(ShardLayout(3, 4, Balance::kNone), ErrorCode::kUsage, "such as 4");
  EXPECT_ERROR(ShardLayout(0, 1, Balance::kNone), ErrorCode::kUsage, "such as 1");
  EXPECT_ERROR(ShardLayout(8, 0, Balance::kNone), ErrorCode::kUsage, "at least 1");
}

/// How often each (global query, global key) pair is attended when all ranks follow their
/// schedules.
std::map<std::pair<std::int64_t, std::int64_t>, int> coverage(const ShardLayout& layout,
                                                              Mask mask) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> count;
  for (int rank = 0; rank < layout.cpSize(); ++rank) {
    const auto queries = layout.globalFromLocal(rank);
    for (const RingStage& stage : ringSchedule(layout, mask, rank).stages) {
      const auto keys = layout.globalFromLocal(stage.source_rank);
      for (const Piece& whole : stage.pieces)
        for (const Piece& p : cutDiagonal(whole))
          for (auto q = p.q_begin; q < p.q_end; ++q)
            for (auto k = p.k_begin; k < p.k_end; ++k)
              if (p.mask == traces::PieceMask::kFull || k - p.k_begin <= q - p.q_begin)
                ++count[{queries[static_cast<std::size_t>(q)], keys[static_cast<std::size_t>(k)]}];
    }
  }
  return count;
}

TEST(PiecesTest, EveryPairOfTheMaskIsAttendedExactlyOnce) {
  for (const Mask mask : {Mask::kFull, Mask::kCausal})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail})
      for (const int cp : {1, 2, 3, 4, 8}) {
        const ShardLayout layout(48, cp, balance);
        const auto count = coverage(layout, mask);
        EXPECT_EQ(count.size(), mask == Mask::kFull ? 48u * 48 : 48u * 49 / 2);
        for (const auto& [pair, times] : count) {
          ASSERT_EQ(times, 1) << pair.first << " " << pair.second;
          ASSERT_TRUE(mask == Mask::kFull || pair.second <= pair.first);
        }
      }
}

TEST(PiecesTest, LargeDiagonalsAreCutWithoutLosingAPair) {
  const auto count = coverage(ShardLayout(1024, 1, Balance::kNone), Mask::kCausal);
  EXPECT_EQ(count.size(), 1024u * 1025 / 2);
  for (const auto& [pair, times] : count) ASSERT_EQ(times, 1);
}

TEST(PiecesTest, HeadTailGivesEveryRankTheSameWork) {
  const ShardLayout balanced(64, 4, Balance::kHeadTail), plain(64, 4, Balance::kNone);
  std::set<std::int64_t> work;
  for (int rank = 0; rank < 4; ++rank)
    work.insert(ringSchedule(balanced, Mask::kCausal, rank).work());
  EXPECT_EQ(work.size(), 1u);
  EXPECT_EQ(ringSchedule(plain, Mask::kCausal, 0).work(), 16 * 17 / 2);
  EXPECT_EQ(ringSchedule(plain, Mask::kCausal, 3).work(), 16 * 17 / 2 + 3 * 16 * 16);
}

TEST(ScheduleTest, EveryBlockVisitsEveryRankAndTheLastHopIsSaved) {
  for (const int cp : {1, 2, 4, 8}) {
    const ShardLayout layout(32, cp, Balance::kNone);
    for (int rank = 0; rank < cp; ++rank) {
      const auto schedule = ringSchedule(layout, Mask::kFull, rank);
      std::set<int> sources;
      int hops = 0;
      for (const auto& stage : schedule.stages)
        sources.insert(stage.source_rank), hops += stage.forwards_kv;
      EXPECT_EQ(schedule.stages.front().source_rank, rank) << "step 0 is local";
      EXPECT_EQ(static_cast<int>(sources.size()), cp);
      EXPECT_EQ(hops, expectedHops(cp).kv_forward);
    }
  }
}

TEST(ScheduleTest, WhatARankHoldsIsWhatItsNeighbourHeldBefore) {
  const ShardLayout layout(32, 4, Balance::kNone);
  for (int rank = 0; rank < 4; ++rank) {
    const auto mine = ringSchedule(layout, Mask::kFull, rank),
               theirs = ringSchedule(layout, Mask::kFull, mine.previous_rank);
    for (std::size_t step = 1; step < 4; ++step)
      EXPECT_EQ(mine.stages[step].source_rank, theirs.stages[step - 1].source_rank);
  }
}

}  // namespace
}  // namespace ringscope::engine
