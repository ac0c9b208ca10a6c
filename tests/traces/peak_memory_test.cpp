// SPDX-License-Identifier: Apache-2.0
// The one definition of peak memory: what the training step needs at once, without verification.
#include "traces/format/trace/peak_memory.h"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "traces/analysis/sql/named_queries.h"
#include "traces/analysis/sql/query.h"
#include "traces/exchange/tables/cell_text.h"
#include "traces/format/trace/step_log.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

constexpr const char* kHeld =
    "run cp=1 verify=true\n"
    "memory weights rank=0 bytes=100 time=1\nmemory verify rank=0 bytes=9000 time=2\n"
    "memory q rank=0 bytes=50 time=3\nmemory kv rank=0 bytes=30 time=3\n"
    "memory q rank=0 bytes=0 time=4\nmemory kv rank=0 bytes=60 time=4\n";

TEST(PeakMemoryTest, IsTheLargestSumAtOneTimeWithoutVerification) {
  const PeakMemory peak = peakMemory(*makeTrace(kHeld), WorldRank::of(0));
  EXPECT_EQ(peak.bytes, 180);
  EXPECT_EQ(peak.time_ns, 3);
  EXPECT_EQ(peak.by_category[static_cast<std::size_t>(MemoryCategory::kVerify)], 0);
}

TEST(PeakMemoryTest, TheNamedQueryGivesTheSame) {
  const auto trace = makeTrace(kHeld);
  std::vector<std::string> rows;
  runQuery(*trace, namedQuery("peak_memory").sql,
           {[](const std::vector<std::string>&) {},
            [&](std::span<const Cell> cells) {
              for (const Cell& cell : cells) rows.push_back(asText(cell, "·"));
              return true;
            }});
  EXPECT_EQ(rows, (std::vector<std::string>{"0", "180", "3"}));
}

TEST(PeakMemoryTest, AnOlderLogOfAVerifiedRunCountsVerificationIn) {
  const auto logged = [](const std::string& run, const std::string& more) {
    return loggedSteps(*makeTrace("run cp=1" + run + "\nnote step.0 {\"peak_bytes\": [10, 30]" +
                                  more + "}\n"))
        .at(0);
  };
  EXPECT_EQ(logged("", "").peak_bytes, 30);
  EXPECT_EQ(logged(" verify=true", "").peak_bytes, std::nullopt);
  EXPECT_EQ(logged(" verify=true", "").peak_bytes_with_verification, 30);
  const auto both = logged(" verify=true", ", \"peak_bytes_with_verification\": [50, 40]");
  EXPECT_EQ(both.peak_bytes, 30);
  EXPECT_EQ(both.peak_bytes_with_verification, 50);
}

}  // namespace
}  // namespace ringscope::traces
