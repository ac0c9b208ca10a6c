// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/shared_readings.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ringscope::traces {
namespace {

int reads = 0;

int counted(const Trace&) {
  return ++reads;
}
int throwing(const Trace&) {
  ++reads;
  throw std::runtime_error("damaged");
}

TEST(SharedReadingsTest, AReadingIsMadeOnceWhileTheyLive) {
  const Trace trace, other;
  reads = 0;
  {
    const SharedReadings readings(trace);
    EXPECT_EQ(SharedReadings::of(trace, counted), 1);
    EXPECT_EQ(SharedReadings::of(trace, counted), 1);
    EXPECT_EQ(SharedReadings::of(other, counted), 2) << "of another trace it is another";
    EXPECT_EQ(SharedReadings::of(trace, counted), 1);
  }
  EXPECT_EQ(SharedReadings::of(trace, counted), 3) << "without them every rule reads by itself";
}

TEST(SharedReadingsTest, EveryRuleGetsTheErrorOfAFailedReading) {
  const Trace trace;
  const SharedReadings readings(trace);
  reads = 0;
  EXPECT_THROW(SharedReadings::of(trace, throwing), std::runtime_error);
  EXPECT_THROW(SharedReadings::of(trace, throwing), std::runtime_error);
  EXPECT_EQ(reads, 2);
}

}  // namespace
}  // namespace ringscope::traces
