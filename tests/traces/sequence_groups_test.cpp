// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/sequence_groups.h"

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "tests/support/expect_error.h"
#include "tests/support/trace_builder.h"
#include "traces/format/trace/own_tokens.h"

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

TEST(SequenceGroupsTest, AreThoseOfAMicrobatchWhereTheyChange) {
  Trace trace;
  const auto add = [&](int id, std::vector<WorldRank> members, std::vector<StepMicrobatch> where) {
    trace.add(GroupRecord{GroupId::of(id), GroupAxis::kCp, std::move(members), std::move(where)});
  };
  add(0, ranks({0, 1}), {{0, 0}, {1, 1}});
  add(1, ranks({0}), {{0, 1}});
  add(2, ranks({1}), {{0, 1}});
  using Groups = std::vector<std::vector<WorldRank>>;
  EXPECT_EQ(sequenceGroups(trace, {0, 0}), (Groups{ranks({0, 1})}));
  EXPECT_EQ(sequenceGroups(trace, {0, 1}), (Groups{ranks({0}), ranks({1})}));
  EXPECT_EQ(sequenceGroups(trace, {1, 1}), (Groups{ranks({0, 1})}));
  EXPECT_TRUE(trace.groups().empty()) << "none holds for all microbatches";
  EXPECT_FALSE(trace.groupContaining(WorldRank::of(0), GroupAxis::kCp));
}

TEST(SequenceGroupsTest, ARecordOfAMicrobatchGoesBeforeOneOfAllMicrobatches) {
  Trace trace;
  for (const std::optional<std::int32_t> microbatch : {std::optional<std::int32_t>(), {1}}) {
    const std::int64_t begin = microbatch ? 4 : 0;
    IntentRecord meant;
    meant.microbatch = microbatch;
    meant.window = begin + 1;
    trace.add(meant);
    ScheduleRecord schedule;
    schedule.microbatch = microbatch;
    schedule.q_head_end = begin + 1;
    trace.add(schedule);
    ShardRecord shard;
    shard.buffer = "input_ids";
    shard.global_from_local = {{begin, begin + 2}};
    shard.microbatch = microbatch;
    trace.add(shard);
  }
  const WorldRank rank = WorldRank::of(0);
  const auto window = [&](std::int32_t step, std::optional<std::int32_t> microbatch) {
    return trace.intent(step, rank, Layer::none(), microbatch)->window;
  };
  const auto heads = [&](std::int32_t step, std::optional<std::int32_t> microbatch) {
    return trace.schedule(step, rank, Direction::kForward, Layer::none(), microbatch)->q_head_end;
  };
  for (const auto& [step, microbatch, wanted] :
       {std::tuple{0, std::optional<std::int32_t>(), 1}, {0, {0}, 1}, {0, {1}, 5}, {1, {1}, 1}}) {
    EXPECT_EQ(window(step, microbatch), wanted);
    EXPECT_EQ(heads(step, microbatch), wanted);
  }
  EXPECT_EQ(ownTokens(trace, 0, rank, 2, 0).front(), TokenIndex::of(0));
  EXPECT_EQ(ownTokens(trace, 0, rank, 2, 1).front(), TokenIndex::of(4));
  EXPECT_EQ(ownTokens(trace, 0, rank, 2).front(), TokenIndex::of(0));
  EXPECT_EQ(trace.shards().size(), 1u);
  ShardRecord impossible;
  impossible.microbatch = -1;
  EXPECT_ERROR(trace.add(impossible), ErrorCode::kInput, "microbatch -1");
}

}  // namespace
}  // namespace ringscope::traces
