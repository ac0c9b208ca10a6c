// SPDX-License-Identifier: Apache-2.0
// The source of each CUDA kernel, run on the host, compared with its CPU twin.
#include "tests/engine/simt/host_kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <stdexcept>

#include "engine/kernels/fp8.h"
#include "engine/kernels/merge.h"
#include "tests/engine/simt/warps.h"

namespace ringscope::engine {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kWidths[] = {0,  1,   2,   31,  32,   33,   63,  64,
                                    65, 127, 128, 129, 1000, 4096, 4097};
constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble};

at::ScalarType sumsFor(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

AttentionResult copied(const AttentionResult& r) {
  return {r.out.clone(), r.lse.clone()};
}

/// Merges a block into rows [first, …) by the kernel and by its twin, and compares all rows.
void expectMergedAlike(const RunningResult& running, const AttentionResult& block,
                       std::int64_t first, unsigned seed) {
  RunningResult host = copied(running), device = copied(running);
  mergeBlock(host, block, first);
  const std::int64_t end = first + block.lse.size(2);
  simt::mergeRows(device.out.slice(2, first, end), device.lse.slice(2, first, end), block.out,
                  block.lse, seed);
  const double relative = running.lse.scalar_type() == at::kDouble ? 1e-14 : 1e-5;
  EXPECT_TRUE(at::allclose(device.out, host.out, relative, relative / 10, true));
  EXPECT_TRUE(at::allclose(device.lse, host.lse, relative, relative / 10, true));
}

TEST(HostKernelsTest, TheMergeEqualsItsTwinForEveryTypeAndWidth) {
  at::manual_seed(11);
  unsigned seed = 0;
  for (const auto type : kTypes)
    for (const std::int64_t width : kWidths) {
      SCOPED_TRACE(std::string(c10::toString(type)) + " " + std::to_string(width));
      const auto sums = sumsFor(type);
      const RunningResult running{at::randn({2, 3, 9, width}, sums),
                                  at::randn({2, 3, 9}, sums) * 20};
      const AttentionResult block{at::randn({2, 3, 5, width}).to(type),
                                  at::randn({2, 3, 5}, sums) * 20};
      expectMergedAlike(running, block, 3, ++seed);
    }
}

TEST(HostKernelsTest, TheMergeEqualsItsTwinForRowsWithoutKeysAndOddNumbers) {
  at::manual_seed(12);
  const double odd[] = {-kInf, kInf, kNan, 0, 1e30, -1e30, 88.8, -104};
  const std::int64_t count = std::size(odd);
  for (const auto type : kTypes) {
    const auto sums = sumsFor(type);
    RunningResult running{at::randn({1, count, count, 40}, sums),
                          at::zeros({1, count, count}, sums)};
    AttentionResult block{at::randn({1, count, count, 40}).to(type),
                          at::zeros({1, count, count}, sums)};
    for (std::int64_t i = 0; i < count; ++i) {
      running.lse.select(1, i).fill_(odd[i]);
      block.lse.select(2, i).fill_(odd[i]);
    }
    expectMergedAlike(running, block, 0, 7);
  }
}

TEST(HostKernelsTest, TheFirstKeysOfARowDoNotReadWhatOutHolds) {
  for (const auto type : kTypes) {
    const auto sums = sumsFor(type);
    const RunningResult unwritten{at::full({1, 1, 4, 40}, kNan, sums),
                                  at::full({1, 1, 4}, -kInf, sums)};
    const AttentionResult block{at::randn({1, 1, 4, 40}).to(type), at::randn({1, 1, 4}, sums)};
    RunningResult device = copied(unwritten);
    simt::mergeRows(device.out, device.lse, block.out, block.lse, 3);
    EXPECT_TRUE(at::equal(device.out, block.out.to(sums)));
    EXPECT_TRUE(at::equal(device.lse, block.lse));
    expectMergedAlike(unwritten, block, 0, 3);
  }
}

TEST(HostKernelsTest, TheMergeReadsStridedRows) {
  at::manual_seed(13);
  const RunningResult running{at::randn({2, 7, 3, 33}).transpose(1, 2),
                              at::randn({2, 7, 3}).transpose(1, 2)};
  const AttentionResult block{at::randn({2, 7, 3, 33}).transpose(1, 2),
                              at::randn({2, 7, 3}).transpose(1, 2)};
  RunningResult device = copied(running);
  ASSERT_EQ(device.out.stride(2), 3 * 33) << "the copy keeps the strides";
  expectMergedAlike(running, block, 0, 1);
}

TEST(HostKernelsTest, QuantisingEqualsItsTwinBitForBit) {
  at::manual_seed(14);
  unsigned seed = 0;
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const std::int64_t width : kWidths) {
      if (width == 0) continue;
      SCOPED_TRACE(std::string(c10::toString(type)) + " " + std::to_string(width));
      at::Tensor x = at::randn({6, width}).to(type);
      x[0].zero_();
      x[1].mul_(1e-4);
      x[2].fill_(-3);
      const Quantised host = quantiseRows(x);
      const at::Tensor values = at::empty_like(host.values), scales = at::empty_like(host.scales);
      simt::quantiseRows(x, values, scales, ++seed);
      EXPECT_TRUE(at::equal(scales, host.scales));
      EXPECT_TRUE(at::equal(values.view(at::kByte), host.values.view(at::kByte)));
    }
}

TEST(HostKernelsTest, EveryOrderOfLanesGivesTheSameBits) {
  at::manual_seed(15);
  const at::Tensor x = at::randn({9, 200});
  const RunningResult running{at::randn({1, 1, 9, 70}), at::randn({1, 1, 9})};
  const AttentionResult block{at::randn({1, 1, 9, 70}), at::randn({1, 1, 9})};
  std::set<std::vector<float>> merged, scaled;
  for (unsigned seed = 0; seed < 20; ++seed) {
    RunningResult device = copied(running);
    simt::mergeRows(device.out, device.lse, block.out, block.lse, seed);
    merged.emplace(device.out.data_ptr<float>(), device.out.data_ptr<float>() + device.out.numel());
    const at::Tensor values = at::empty({9, 200}, at::kFloat8_e4m3fn), scales = at::empty({9, 1});
    simt::quantiseRows(x, values, scales, seed);
    scaled.emplace(scales.data_ptr<float>(), scales.data_ptr<float>() + scales.numel());
  }
  EXPECT_EQ(merged.size(), 1u);
  EXPECT_EQ(scaled.size(), 1u);
}

TEST(WarpsTest, AMissingMeetingChangesResultsWithTheOrderOfLanes) {
  std::set<int> seen;
  for (unsigned seed = 0; seed < 20; ++seed) {
    int shared = 0, late = 0;
    simt::runGrid(1, 32, seed, [&] {
      late += shared;  // without a meeting, some lanes read what lane 0 writes
      if (simt::threadOfLane().x == 0) shared = 1;
    });
    seen.insert(late);
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(WarpsTest, LanesThatWaitForOthersThatReturnedAreAnError) {
  EXPECT_THROW(simt::runGrid(1, 32, 1,
                             [] {
                               if (simt::threadOfLane().x != 4) simt::meet();
                             }),
               std::logic_error);
}

TEST(WarpsTest, EachLaneGetsTheValueOfItsPartner) {
  int wrong = 0;
  simt::runGrid(2, 64, 5, [&] {
    const auto own = static_cast<float>(simt::threadOfLane().x % 32);
    for (const int mask : {16, 8, 4, 2, 1})
      if (simt::exchange(own, mask) != static_cast<float>(static_cast<int>(own) ^ mask)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ringscope::engine
