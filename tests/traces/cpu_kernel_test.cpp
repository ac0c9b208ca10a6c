// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/cpu_kernel.h"

#include <gtest/gtest.h>

namespace ringscope::traces {
namespace {

TEST(CpuKernelTest, KeyHeadsAreCopiedForIdleThreads) {
  EXPECT_EQ(keyHeadCopies(8, 4, 8), 1) << "each thread has one";
  EXPECT_EQ(keyHeadCopies(1, 4, 2), 2) << "two are enough for two threads";
  EXPECT_EQ(keyHeadCopies(1, 3, 2), 3) << "two do not divide three query heads";
  EXPECT_EQ(keyHeadCopies(8, 4, 12), 4) << "three turns of 32 are less than two of 16";
  EXPECT_EQ(keyHeadCopies(1, 1, 16), 1) << "of one query head there is nothing to share out";
}

}  // namespace
}  // namespace ringscope::traces
