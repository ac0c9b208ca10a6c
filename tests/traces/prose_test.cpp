// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/prose.h"

#include <gtest/gtest.h>

#include <limits>

namespace ringscope::traces {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ProseTest, BytesAreInTheLargestUnitThatHasOne) {
  EXPECT_EQ(describeBytes(0), "0 B");
  EXPECT_EQ(describeBytes(1023), "1023 B");
  EXPECT_EQ(describeBytes(1024), "1 KiB");
  EXPECT_EQ(describeBytes(1536), "1.5 KiB");
  EXPECT_EQ(describeBytes(128 << 10), "128 KiB");
  EXPECT_EQ(describeBytes(2'202'010), "2.1 MiB");
  EXPECT_EQ(describeBytes((1 << 20) - 1), "1 MiB") << "not 1024 KiB";
  EXPECT_EQ(describeBytes(std::int64_t{3} << 30), "3 GiB");
  EXPECT_EQ(describeBytes(std::int64_t{5} << 50), "5120 TiB");
  EXPECT_EQ(describeBytes(-1536), "-1.5 KiB");
}

TEST(ProseTest, DurationsAreInTheLargestUnitThatHasOne) {
  EXPECT_EQ(describeDuration(0), "0 ns");
  EXPECT_EQ(describeDuration(850), "850 ns");
  EXPECT_EQ(describeDuration(38'000), "38.0 µs");
  EXPECT_EQ(describeDuration(1'000'000), "1.0 ms");
  EXPECT_EQ(describeDuration(99'960'000), "100 ms");
  EXPECT_EQ(describeDuration(999'700'000), "1.0 s") << "not 1000 ms";
  EXPECT_EQ(describeDuration(7'200'000'000'000), "7200 s");
  EXPECT_EQ(describeDuration(-2'500'000), "-2.5 ms");
  EXPECT_EQ(describeSeconds(0.0421), "42.1 ms");
}

TEST(ProseTest, CountsAreGroupedAndTheirNounsInflected) {
  EXPECT_EQ(describeCount(0), "0");
  EXPECT_EQ(describeCount(999), "999");
  EXPECT_EQ(describeCount(1204), "1,204");
  EXPECT_EQ(describeCount(1'000'000), "1,000,000");
  EXPECT_EQ(describeCount(-100), "-100");
  EXPECT_EQ(describeCount(-1204), "-1,204");
  EXPECT_EQ(describeAll(1, "comparison"), "The comparison");
  EXPECT_EQ(describeAll(1204, "comparison"), "All 1,204 comparisons");
  EXPECT_EQ(describeCount(1, "event"), "1 event");
  EXPECT_EQ(describeCount(0, "event"), "0 events");
  EXPECT_EQ(describeCount(1204, "event"), "1,204 events");
}

TEST(ProseTest, MultiplesLoseDigitsAsTheyGrow) {
  EXPECT_EQ(describeMultiple(0.92), "0.9×");
  EXPECT_EQ(describeMultiple(9.94), "9.9×");
  EXPECT_EQ(describeMultiple(9.97), "10×");
  EXPECT_EQ(describeMultiple(8400.2), "8,400×");
  EXPECT_EQ(describeMultiple(99'999), "99,999×");
  EXPECT_EQ(describeMultiple(583'265), "583 k×");
  EXPECT_EQ(describeMultiple(7'790'000), "7.8 M×");
  EXPECT_EQ(describeMultiple(8.47e37), "8.5e+37×");
  EXPECT_EQ(describeMultiple(kInfinity), "∞×");
  EXPECT_EQ(describeMultiple(std::numeric_limits<double>::quiet_NaN()), "∞×");
}

TEST(ProseTest, NumbersKeepTheDigitsThatAreAskedFor) {
  EXPECT_EQ(describeShare(0.874), "87 %");
  EXPECT_EQ(describeSignificant(0.03149, 2), "0.031");
  EXPECT_EQ(describeSignificant(1.0, 3), "1");
  EXPECT_EQ(describeSignificant(-0.0, 3), "0");
  EXPECT_EQ(describeDecimals(3.14159, 2), "3.14");
  EXPECT_EQ(describeDecimals(-kInfinity, 2), "−∞");
  EXPECT_EQ(describeSignificant(kInfinity, 2), "∞");
  EXPECT_EQ(describeDecimals(std::numeric_limits<double>::quiet_NaN(), 2), "NaN");
  EXPECT_EQ(describeDecimals(-1e308, 2).size(), 313u) << "whole, not cut";
}

}  // namespace
}  // namespace ringscope::traces
