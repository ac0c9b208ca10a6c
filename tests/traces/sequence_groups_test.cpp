// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/sequence_groups.h"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"

namespace ringscope::traces {
namespace {

std::vector<WorldRank> ranks(std::initializer_list<int> values) {
  std::vector<WorldRank> all;
  for (const int value : values) all.push_back(WorldRank::of(value));
  return all;
}

TEST(SequenceGroupsTest, AreTheRecordedCpGroups) {
  const auto trace = test::makeTrace(R"(
    run dp=2 cp=2
    group world 0,1,2,3
    group cp 0,1
    group dp 0,2
    group cp 2,3
  )");
  EXPECT_EQ(sequenceGroups(*trace),
            (std::vector<std::vector<WorldRank>>{ranks({0, 1}), ranks({2, 3})}));
}

TEST(SequenceGroupsTest, AreAllRanksWhereNoGroupIsRecorded) {
  const auto trace = test::makeTrace("wait rank=2\n");
  EXPECT_EQ(sequenceGroups(*trace), (std::vector<std::vector<WorldRank>>{ranks({0, 1, 2})}));
}

}  // namespace
}  // namespace ringscope::traces
