// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/row_sums.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <random>

namespace ringscope::engine {
namespace {

at::Tensor nonsense() {
  return at::full({2, 3, 16, 4}, std::numeric_limits<float>::quiet_NaN());
}

TEST(RowSumsTest, EqualSumsFromZerosForEveryOrderOfTheParts) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    RowSums sums(nonsense());
    const at::Tensor expected = at::zeros({2, 3, 16, 4});
    for (unsigned part = random() % 6; part > 0; --part) {
      const auto begin = static_cast<std::int64_t>(random() % 16);
      const auto end = begin + 1 + static_cast<std::int64_t>(random()) % (16 - begin);
      const at::Tensor values = at::randn({2, 3, end - begin, 4});
      sums.add(begin, end, values);
      expected.slice(2, begin, end).add_(values);
    }
    ASSERT_TRUE(at::equal(sums.finished(), expected)) << "round " << round;
  }
}

TEST(RowSumsTest, TakesMorePartsAfterItWasFinished) {
  RowSums sums(nonsense());
  EXPECT_TRUE(at::equal(sums.finished(), at::zeros({2, 3, 16, 4})));
  sums.add(0, 16, at::ones({2, 3, 16, 4}));
  EXPECT_TRUE(at::equal(sums.finished(), at::ones({2, 3, 16, 4})));
}

}  // namespace
}  // namespace ringscope::engine
