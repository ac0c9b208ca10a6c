// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/attend/attend.h"
#include "engine/launch/rank_threads.h"
#include "tests/engine/strategy_cases.h"
#include "tests/support/files.h"

namespace ringscope::engine {
namespace {

/// Packets use two buffers, for any number of ring steps.
TEST(StrategyMemoryTest, RingStepsAllocateNoPacketsAndSteadyStateBytesAreConstant) {
  std::map<int, std::int64_t> packets;
  for (const int cp : {4, 8}) {
    RankThreadOptions options;
    options.mesh.cp = cp;
    options.memory = std::make_shared<MemoryTracker>(cp);
    const ShardLayout layout(64 * cp, cp, Balance::kHeadTail);
    Gate gate(cp);
    runRankThreads(options, gate, [&](RankContext& context) {
      const at::Tensor q = at::randn({1, 4, 64, 16});
      const auto op = makeAttention(context, {}, layout, Mask::causalMask(), {0.25, {}});
      std::vector<std::int64_t> bytes, allocations;
      for (int round = 0; round < 3; ++round) {
        const auto result = op->forward(q, q, q, Layer::of(0));
        const auto gradients = op->backward(q, q, q, q, result, Layer::of(0));
        context.cp.barrier();
        bytes.push_back(options.memory->total(context.worldRank()));
        allocations.push_back(
            options.memory->allocations(context.worldRank(), MemoryCategory::kInFlight));
      }
      EXPECT_EQ(bytes[1], bytes[2]);
      EXPECT_EQ(allocations[2] - allocations[1], allocations[1] - allocations[0]);
      if (context.isFirstOfWorld()) packets[cp] = allocations[0];
    });
  }
  EXPECT_EQ(packets[4], packets[8]);
  EXPECT_EQ(packets[4], 6) << "two buffers each for KV forward, KV backward and dK, dV";
}

/// Compares each rank's categories with the bytes that LibTorch's allocator counts.
TEST(StrategyMemoryTest, TheCategoriesOfAllRanksAddUpToWhatTheAllocatorSays) {
  constexpr int kRanks = 4;
  RankThreadOptions options;
  options.mesh.cp = kRanks;
  options.memory = std::make_shared<MemoryTracker>(kRanks);
  const MemoryTracker& memory = *options.memory;
  const ShardLayout layout(1024, kRanks, Balance::kHeadTail);
  Gate gate(kRanks);
  std::int64_t before = 0, by_category = 0, by_rank = 0, allocator = 0;
  runRankThreads(options, gate, [&](RankContext& context) {
    const bool first = context.isFirstOfWorld();
    if (first) before = at::empty({1}).defined() ? memory.allocatorBytes() : 0;
    context.cp.barrier();
    const at::Tensor q = at::randn({2, 4, 256, 64});
    const auto op = makeAttention(context, {}, layout, Mask::causalMask(), {0.25, {}});
    const auto result = op->forward(q, q, q, Layer::of(0));
    const auto gradients = op->backward(q, q, q, q, result, Layer::of(0));
    context.cp.barrier();
    if (first) {
      allocator = memory.allocatorBytes();
      for (const WorldRank r : options.mesh.ranks()) {
        by_rank += memory.total(r);
        for (std::size_t c = 0; c < MemoryTracker::kCategories; ++c)
          by_category += memory.bytes(r, static_cast<MemoryCategory>(c));
      }
    }
    context.cp.barrier();
  });
  EXPECT_EQ(by_category, by_rank);
  EXPECT_GT(by_rank, 4 << 20);
  EXPECT_NEAR(static_cast<double>(by_rank), static_cast<double>(allocator - before),
              0.01 * static_cast<double>(by_rank));
}

}  // namespace
}  // namespace ringscope::engine
