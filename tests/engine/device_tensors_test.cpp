// SPDX-License-Identifier: Apache-2.0
// The engine's handling of GPU tensors, as far as a machine without a GPU can test it. A tensor of
// the device "meta" stands for one whose values are not in this process's memory. Copying it to the
// host fails, and so does using its pointer as a host pointer.
#include <ATen/ATen.h>
#include <c10/core/AutogradState.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "engine/control/tensor_read.h"
#include "engine/launch/rank_threads.h"
#include "engine/tensors/tensor_io.h"
#include "tests/support/files.h"

namespace ringscope::engine {
namespace {

at::Tensor elsewhere() {
  return at::empty({2, 3}, at::TensorOptions().dtype(at::kFloat).device(at::kMeta));
}

TEST(DeviceTensorsTest, SavingCopiesTensorsToTheHostFirst) {
  test::TempDir dir;
  EXPECT_ANY_THROW(saveTensors(dir.file("a.safetensors"), {{"weight", elsewhere()}}));
  EXPECT_FALSE(std::filesystem::exists(dir.file("a.safetensors")));
  EXPECT_ANY_THROW(bytesFrom(elsewhere()));
}

TEST(DeviceTensorsTest, ALiveTensorIsListedWithItsDeviceAndReadThroughACopy) {
  const at::Tensor tensor = elsewhere();
  LiveTensors live;
  live.put(traces::WorldRank::of(1), "q", traces::Place{}, tensor);
  EXPECT_EQ(listLiveTensors(live).tensors.size(), 1u);
  const auto entry = live.find(traces::WorldRank::of(1), "q", traces::Place{}.layer);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->tensor.device(), tensor.device());
  EXPECT_ANY_THROW(
      readLiveTensor(live, {traces::WorldRank::of(1), "q", traces::Place{}.layer, {}, {}, {}}));
}

TEST(DeviceTensorsTest, ABackwardPassRunsOnItsRanksOwnThread) {
  RankThreadOptions options;
  options.mesh = {1, 1, 2};
  Gate gate(2);
  std::atomic<int> on_their_own{0};
  runRankThreads(options, gate, [&](RankContext&) {
    on_their_own += !c10::AutogradState::get_tls_state().get_multithreading_enabled();
  });
  EXPECT_EQ(on_their_own, 2);
}

}  // namespace
}  // namespace ringscope::engine
