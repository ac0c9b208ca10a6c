// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/memory_tracker.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

namespace ringscope::engine {
namespace {

TEST(MemoryTrackerTest, CategoriesAddUpAndAForeignFreeIsFound) {
  const WorldRank owner = WorldRank::of(1);
  auto tracker = std::make_shared<MemoryTracker>(2);
  at::Tensor kept;
  {
    const MemoryTracker::Attachment attachment(tracker, owner);
    const MemoryScope scope(MemoryCategory::kKv);
    kept = at::empty({1000}, at::kFloat);
    const MemoryScope inner(MemoryCategory::kQ);
    const at::Tensor passing = at::empty({500}, at::kFloat);
    EXPECT_EQ(tracker->bytes(owner, MemoryCategory::kQ), 2000);
    EXPECT_EQ(tracker->total(owner), 6000);
  }
  EXPECT_EQ(tracker->bytes(owner, MemoryCategory::kKv), 4000);
  std::thread([&] {
    const MemoryTracker::Attachment attachment(tracker, WorldRank::of(0));
    kept = at::Tensor();
  }).join();
  EXPECT_EQ(tracker->total(owner), 0) << "freed by another rank's thread, counted for its owner";
  EXPECT_EQ(tracker->peak(owner).bytes, 6000);
}

}  // namespace
}  // namespace ringscope::engine
