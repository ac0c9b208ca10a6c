// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/readings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/logged_loss.h"

namespace ringscope::traces {
namespace {

TEST(MadeOnceTest, FourThreadsGetTheValueThatOneOfThemMakes) {
  const MadeOnce<int> value;
  std::atomic<int> made = 0;
  std::vector<const int*> seen(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(seen.size());
    for (const int*& at : seen)
      threads.emplace_back([&] { at = &value.get([&] { return ++made; }); });
  }
  EXPECT_EQ(made, 1);
  for (const int* at : seen) EXPECT_EQ(at, seen.front());
}

TEST(MadeOnceTest, EveryCallerGetsTheErrorUntilAValueIsMade) {
  const MadeOnce<int> value;
  const auto fail = []() -> int { throw std::runtime_error("damaged"); };
  EXPECT_THROW(value.get(fail), std::runtime_error);
  EXPECT_THROW(value.get(fail), std::runtime_error);
  EXPECT_EQ(value.get([] { return 3; }), 3);
}

TEST(ReadingsTest, EveryRuleGetsTheSameReading) {
  const auto trace = test::makeTrace("run cp=2 seq_len=4\n");
  const Readings readings(*trace);
  EXPECT_EQ(&readings.loggedLoss(), &readings.loggedLoss());
  EXPECT_EQ(&readings.trace(), trace.get());
}

}  // namespace
}  // namespace ringscope::traces
