// SPDX-License-Identifier: GPL-3.0-or-later
// Records that must never enter the read model.
#include <gtest/gtest.h>

#include "tests/support/any_records.h"
#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"

namespace ringscope::viz {
namespace {

using test::AnyRecords;
using test::forwardAt;
using test::rank;
using traces::WorldRank;

TEST(AdmissionTest, RejectsImpossibleGroupsSchedulesAndIntents) {
  AnyRecords builder;
  traces::GroupRecord group;
  group.members = {rank(0), rank(32'000)};
  EXPECT_ERROR(builder.trace().add(group), ErrorCode::kInput, "rank 32000");
  group.members = {traces::WorldRank::none()};
  EXPECT_ERROR(builder.trace().add(group), ErrorCode::kInput, "rank -1");
  group.members = {};
  EXPECT_ERROR(builder.trace().add(group), ErrorCode::kInput, "without members");
  group.members = {rank(1), rank(0), rank(1)};
  EXPECT_ERROR(builder.trace().add(group), ErrorCode::kInput, "twice");
  traces::ScheduleRecord schedule;
  schedule.rows = {{0, std::int64_t{1} << 40, std::int64_t{1} << 40}};
  EXPECT_ERROR(builder.trace().add(schedule), ErrorCode::kInput, "tokens");
  schedule.rows = {{0, 4, 0}};
  EXPECT_ERROR(builder.trace().add(schedule), ErrorCode::kInput, "tokens");
  schedule.rows.clear();
  schedule.stages.resize(1);
  schedule.stages[0].pieces = {{5, 1, 0, 1}};
  EXPECT_ERROR(builder.trace().add(schedule), ErrorCode::kInput, "query rows");
  traces::IntentRecord intent;
  intent.documents = {{0, std::int64_t{1} << 62}};
  EXPECT_ERROR(builder.trace().add(intent), ErrorCode::kInput, "a document");
  EXPECT_EQ(builder.trace().worldSize(), 0);
}

TEST(AdmissionTest, RejectsImpossibleRanksPlacesRangesAndShapes) {
  AnyRecords builder;
  EXPECT_ERROR(builder.shard("q", rank(32'000), {}), ErrorCode::kInput, "rank 32000");
  EXPECT_ERROR(builder.shard("q", rank(-1), {}), ErrorCode::kInput, "rank -1");
  EXPECT_ERROR(builder.attend(rank(0), rank(32'000), forwardAt(0, 0), 0, 1, 0, 1),
               ErrorCode::kInput, "rank 32000");
  EXPECT_ERROR(builder.attend(rank(0), rank(0), forwardAt(0, 32'767), 0, 1, 0, 1),
               ErrorCode::kInput, "place");
  EXPECT_ERROR(builder.attend(rank(0), rank(0), forwardAt(0, 0), 5, 1, 0, 1), ErrorCode::kInput,
               "query rows");
  EXPECT_ERROR(builder.attend(rank(0), rank(0), forwardAt(0, 0), 0, 1, -7, 1), ErrorCode::kInput,
               "key rows");
  EXPECT_ERROR(builder.shard("q", rank(0), {{0, std::int64_t{1} << 62}}), ErrorCode::kInput,
               "tokens");
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_ERROR(builder.tensor("q", forwardAt(0, 0), rank(0), {0, huge}, {}), ErrorCode::kInput,
               "shape");
  EXPECT_ERROR(builder.tensor("q", forwardAt(0, 0), rank(0), {-1}, {}), ErrorCode::kInput, "shape");
  EXPECT_ERROR(builder.tensor("q\xff", forwardAt(0, 0), rank(0), {1}, {1}), ErrorCode::kInput,
               "not UTF-8");
  EXPECT_ERROR(builder.shard(std::string(600, 'q'), rank(0), {}), ErrorCode::kInput, "600 bytes");
  traces::Event late;
  late.end_ns = std::numeric_limits<std::int64_t>::max();
  EXPECT_ERROR(builder.event(late), ErrorCode::kInput, "time");
  EXPECT_EQ(builder.trace().worldSize(), 0);
  EXPECT_TRUE(builder.trace().tensors().empty());
}

}  // namespace
}  // namespace ringscope::viz
