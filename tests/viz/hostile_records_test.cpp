// SPDX-License-Identifier: GPL-3.0-or-later
// Records that an untrusted trace may contain and no run makes, passed through the read model, the
// rules and the scenes. The test uses no Qt, so that it runs under the sanitizers.
#include <gtest/gtest.h>

#include "tests/support/any_records.h"
#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/format/trace/layer_merge.h"
#include "viz/scene/chunks.h"
#include "viz/scene/memory_series.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/ring_scene.h"
#include "viz/scene/tensor_slice.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/diff/error_map_scene.h"
#include "viz/views/merge/merge_scene.h"
#include "viz/views/positions/token_table_scene.h"

namespace ringscope::viz {
namespace {

using test::AnyRecords;
using test::forwardAt;
using test::rank;
using traces::Direction;

constexpr int kRanks = 2;

Cursor cursorAt(int stage) {
  Cursor cursor;
  cursor.place = forwardAt(0, stage);
  return cursor;
}

/// Returns a schedule with the given rows, and a stage for each of the two ranks' blocks.
traces::ScheduleRecord scheduleFor(int number, std::vector<traces::ShardRun> rows) {
  traces::ScheduleRecord schedule;
  schedule.rank = rank(number);
  schedule.rows = std::move(rows);
  for (int step = 0; step < kRanks; ++step) {
    traces::StageRecord stage;
    stage.ring_step = RingStep::of(step);
    stage.source_rank = rank((number + step) % kRanks);
    schedule.stages.push_back(stage);
  }
  return schedule;
}

CoverageScene coverageOf(AnyRecords& builder, int stage = 0) {
  makeRingScene(builder.trace(), cursorAt(stage));
  return makeCoverageScene(builder.trace(), cursorAt(stage));
}

/// Returns two ranks with two chunks of 8 tokens each and a full mask.
AnyRecords twoRanks() {
  AnyRecords builder;
  traces::IntentRecord meant;
  meant.mask = traces::MaskKind::kFull;
  builder.trace().add(meant);
  for (int r = 0; r < kRanks; ++r) {
    builder.trace().add(scheduleFor(r, {{r * 8, 8, 1}, {24 - r * 8, 8, 1}}));
    builder.attend(rank(r), rank(r), forwardAt(0, 0), 0, 16, 0, 16);
  }
  return builder;
}

TEST(HostileCoverageTest, ABlockOfARankThatIsNotOfTheRunIsNoCell) {
  AnyRecords builder = twoRanks();
  builder.trace().add(scheduleFor(300, {{1000, 8, 1}, {2000, 8, 3}}));
  builder.attend(rank(0), rank(300), forwardAt(0, 1), 0, 16, 0, 16);
  const CoverageScene scene = coverageOf(builder, 1);
  EXPECT_EQ(scene.work_done.size(), 2u);
  EXPECT_EQ(scene.chunks, 4);
  EXPECT_EQ(scene.cells.size(), 16u);
}

TEST(HostileCoverageTest, KeysBeyondTheShardAreNoCell) {
  AnyRecords builder = twoRanks();
  builder.attend(rank(0), rank(1), forwardAt(0, 1), 0, 1 << 30, 16, 1 << 30);
  builder.attend(rank(1), WorldRank::none(), forwardAt(0, 1), 0, 16, 0, 16);
  const CoverageScene scene = coverageOf(builder, 1);
  EXPECT_EQ(scene.chunks, 4);
  EXPECT_EQ(scene.work_done, (std::vector<double>{256, 256}));
}

TEST(HostileCoverageTest, MoreRanksThanTheRunHasDoNotShareTheHeads) {
  AnyRecords builder = twoRanks();
  traces::RunSpec run;
  run.ulysses = 2'000'000'000;
  EXPECT_ERROR(builder.trace().add(run), ErrorCode::kInput, "2000000000");
  traces::ScheduleRecord schedule = scheduleFor(0, {{0, 16, 1}});
  for (int r = 0; r < 4000; ++r) schedule.ulysses.push_back(rank(r));
  builder.trace().add(schedule);
  EXPECT_EQ(coverageOf(builder).heads_shared_by, kRanks);
}

TEST(HostileCoverageTest, OverlappingRowsAreCountedEachTime) {
  AnyRecords builder = twoRanks();
  builder.trace().add(scheduleFor(0, {{0, 8, 1}, {0, 8, 1}, {4, 8, 1}}));
  EXPECT_GT(coverageOf(builder).doubled, 0);
  builder.trace().add(scheduleFor(0, {{0, 8, 1}, {0, 8, 7}}));
  EXPECT_EQ(coverageOf(builder).note, "");
}

TEST(HostileCoverageTest, ReportsTooManyChunks) {
  AnyRecords builder;
  traces::ScheduleRecord schedule = scheduleFor(0, {});
  for (std::int64_t token = 0; token < 100'000; token += 2) schedule.rows.push_back({token, 1, 1});
  builder.trace().add(schedule);
  builder.event({});
  const CoverageScene scene = coverageOf(builder);
  EXPECT_EQ(scene.note, "50000 chunks are too many for this view.");
  EXPECT_TRUE(scene.cells.empty());
}

TEST(HostileCoverageTest, SchedulesAtTheEdgeOfWhatIsAdmittedAreComputedWith) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  AnyRecords builder = twoRanks();
  traces::ScheduleRecord schedule = scheduleFor(0, {{0, kMost - 1, 1}});
  schedule.stages[0].pieces = {{0, kMost, 0, kMost, traces::PieceMask::kTileMask,
                                std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max()}};
  builder.trace().add(schedule);
  EXPECT_GT(coverageOf(builder).work_total[0], 1e23);
}

std::vector<float> some(std::int64_t count) {
  return std::vector<float>(static_cast<std::size_t>(count), 0.5f);
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

/// A forward of one rank whose four tensors can have any shapes.
struct MergeShapes {
  std::vector<std::int64_t> out{1, 2, 8, 4}, lse{1, 2, 8}, block_out{1, 2, 8, 4},
      block_lse{1, 2, 8};
};

void mergeOf(const MergeShapes& shapes, std::int32_t q_end = 8) {
  AnyRecords builder;
  builder.trace().add(scheduleFor(0, {{0, 8, 1}}));
  builder.tensor("out", forwardAt(0, -1), rank(0), shapes.out, some(product(shapes.out)));
  builder.tensor("lse", forwardAt(0, -1), rank(0), shapes.lse, some(product(shapes.lse)));
  for (int stage = 0; stage < 2; ++stage) {
    const WorldRank source = rank(stage);
    builder.attend(rank(0), source, forwardAt(0, stage), 0, q_end, 0, 8);
    builder.tensor("block_out", forwardAt(0, stage), rank(0), shapes.block_out,
                   some(product(shapes.block_out)), source);
    builder.tensor("block_lse", forwardAt(0, stage), rank(0), shapes.block_lse,
                   some(product(shapes.block_lse)), source);
  }
  traces::diagnose(builder.trace());
  for (const std::int64_t head : {-1, 0, 1, 7})
    for (const std::int64_t query : {-1, 0, 7, 63})
      mergeHistory(builder.trace(), forwardAt(0, 0), {rank(0)}, rank(0), head, query);
}

TEST(HostileMergeTest, TensorsOfOtherSizesThanOutAreNotMerged) {
  const std::vector<std::vector<std::int64_t>> other_sizes = {
      {},           {8},           {2, 8},     {1, 2, 8},    {1, 2, 8, 4},  {1, 1, 1},
      {1, 2, 0},    {1, 2, 0, 4},  {0, 2, 8},  {0, 2, 8, 4}, {3, 2, 8},     {3, 2, 8, 4},
      {1, 7, 8, 4}, {1, 2, 64, 4}, {1, 2, 64}, {1, 2, 8, 1}, {1, 2, 8, 64}, {2, 2, 2, 2, 2}};
  for (const auto& shape : other_sizes) {
    MergeShapes shapes;
    for (auto* wrong : {&shapes.out, &shapes.lse, &shapes.block_out, &shapes.block_lse}) {
      const auto kept = std::exchange(*wrong, shape);
      mergeOf(shapes);
      mergeOf(shapes, 64);
      *wrong = kept;
    }
    mergeOf({shape, shape, shape, shape});
  }
}

TEST(HostileMergeTest, RanksWhoseBatchesDifferAreNotPutTogether) {
  AnyRecords builder;
  constexpr std::int64_t kMany = 1 << 14;
  for (int r = 0; r < kRanks; ++r) {
    const std::int64_t batch = r == 0 ? kMany : 1, tokens = r == 0 ? 1 : kMany;
    builder.shard("input_ids", rank(r), {{r, r + tokens}});
    traces::Event event;
    event.rank = rank(r);
    builder.event(event);
    builder.tensor("out", forwardAt(0, -1), rank(r), {batch, 1, tokens, 64}, some(kMany * 64));
    builder.tensor("lse", forwardAt(0, -1), rank(r), {batch, 1, tokens}, some(kMany));
  }
  EXPECT_FALSE(
      traces::mergeLayer(builder.trace(), 0, Layer::of(0), {rank(0), rank(1)}).has_value());
}

TEST(HostileMergeTest, TensorsThatFitAreStillMerged) {
  AnyRecords builder;
  builder.trace().add(scheduleFor(0, {{0, 2, 1}}));
  builder.tensor("out", forwardAt(0, -1), rank(0), {1, 1, 2, 1}, {1.5f, 3.5f});
  builder.tensor("lse", forwardAt(0, -1), rank(0), {1, 1, 2}, {0.6931472f, 0.6931472f});
  for (int stage = 0; stage < 2; ++stage) {
    const auto plus = static_cast<float>(stage);
    builder.attend(rank(0), rank(stage), forwardAt(0, stage), 0, 2, 0, 2);
    builder.tensor("block_out", forwardAt(0, stage), rank(0), {1, 1, 2, 1}, {1 + plus, 3 + plus},
                   rank(stage));
    builder.tensor("block_lse", forwardAt(0, stage), rank(0), {1, 1, 2}, {0, 0}, rank(stage));
  }
  const MergeHistory history =
      mergeHistory(builder.trace(), forwardAt(0, 0), {rank(0)}, rank(0), 0, 1);
  EXPECT_EQ(history.missing, "");
  EXPECT_NEAR(history.merged, 3.5, 1e-6);
  EXPECT_NEAR(history.naive, 7, 1e-6);
}

TEST(HostileTokensTest, ARunOfTokensThatWereNotRecordedCostsNothing) {
  AnyRecords builder;
  builder.event({});
  const std::vector<traces::TokenRun> runs = {{0, std::int64_t{1} << 39}};
  for (const char* buffer : {"input_ids", "labels", "position_ids"}) {
    builder.shard(buffer, rank(0), runs);
    builder.tensor(std::string("buffer.") + buffer, {}, rank(0), {1, 4}, {0, 1, 2, 3});
  }
  builder.tensor("position_ids", {}, rank(0), {1, 4},
                 {0, 1, 2, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(makeTokenTable(builder.trace(), Cursor()).cells.size(), 4u);
  EXPECT_EQ(makePositionStrip(builder.trace(), Cursor()).rows.size(), 1u);
  const std::string report = traces::toText(traces::diagnose(builder.trace()));
  EXPECT_NE(report.find("missing_position_ids: needs position ids that are the places of the "
                        "tokens, or count the rank's own; 1 of 4 are neither"),
            std::string::npos)
      << report;
}

TEST(HostileTensorTest, SlicesAndErrorMapsOfNothingAreEmpty) {
  EXPECT_TRUE(tensorSlice({0, 3}, {}, {}).values.empty());
  EXPECT_TRUE(
      tensorSlice({std::int64_t{1} << 40, std::int64_t{1} << 40}, {1, 2}, {}).values.empty());
  EXPECT_TRUE(tensorSlice({-3, -3}, {1, 2}, {}).values.empty());
  AnyRecords builder;
  builder.tensor("error.abs.out", forwardAt(0, -1), rank(0), {0, 8}, {});
  EXPECT_NE(makeErrorMap(builder.trace(), cursorAt(0), ErrorUnit::kAbsolute).missing, "");
}

TEST(HostileTensorTest, ARankWithoutEventsHasNoMemoryAndNoEvents) {
  AnyRecords builder;
  EXPECT_TRUE(builder.trace().events(rank(300)).empty());
  EXPECT_TRUE(builder.trace().memory(rank(-1)).empty());
  EXPECT_EQ(memorySeries(builder.trace(), rank(300), 10).peak_bytes, 0);
}

}  // namespace
}  // namespace ringscope::viz
