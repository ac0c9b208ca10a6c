// SPDX-License-Identifier: GPL-3.0-or-later
// Scenes of memory, errors, slices and whole runs.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "viz/scene/memory_series.h"
#include "viz/scene/units.h"
#include "viz/views/compare/run_summary_scene.h"
#include "viz/views/diff/diff_scene.h"
#include "viz/views/diff/error_map_scene.h"
#include "viz/views/memory/memory_law_scene.h"
#include "viz/views/pass/time_scale.h"
#include "viz/views/tensor/tensor_scene.h"

namespace ringscope::viz {
namespace {

using test::recordedTrace;
using test::RingRun;

Cursor tensorAt(int train_step, int layer, const std::string& tensor) {
  Cursor cursor =
      test::IndexedTrace::at(test::placeAt(train_step, layer, traces::Direction::kForward, 0));
  cursor.tensor = tensor;
  return cursor;
}

TEST(MemorySeriesTest, AddsCategoriesUpAndKeepsPeaks) {
  const auto series = memorySeries(*recordedTrace(), WorldRank::of(2), 100);
  EXPECT_EQ(series.columns.size(), 100u);
  EXPECT_EQ(series.columns.back()[static_cast<std::size_t>(traces::MemoryCategory::kWeights)],
            200'000);
  EXPECT_GT(series.peak_bytes, 240'000);
}

TEST(TimeScaleTest, PixelsAndTimesAreInverse) {
  const TimeScale scale{1000, 901'000, 100, 900};
  EXPECT_DOUBLE_EQ(scale.x(1000), 100);
  EXPECT_EQ(scale.ns(scale.x(450'000)), 450'000);
  EXPECT_EQ(scale.tick(10), 100'000);
  EXPECT_EQ(scale.tick(18), 50'000);
}

TEST(ErrorMapTest, HasAnErrorForEachHeadAndPositionAndTheRanksThatOwnThem) {
  const auto trace = recordedTrace();
  const ErrorMap map = makeErrorMap(*trace, tensorAt(0, 1, "dk"), ErrorUnit::kLimit);
  EXPECT_EQ(map.missing, "");
  EXPECT_EQ(map.heads, 2);
  EXPECT_EQ(map.positions, 128);
  ASSERT_EQ(map.owners.size(), 8u);
  EXPECT_EQ(map.owners[0].rank, WorldRank::of(0));
  EXPECT_EQ(map.owners[7].rank, WorldRank::of(0));
  double largest = 0;
  for (const double v : map.values) largest = std::max(largest, v);
  for (const auto& diff : trace->diffs())
    if (diff.isolated && diff.tensor == "dk" && diff.place.layer == Layer::of(1) &&
        diff.place.train_step == 0) {
      EXPECT_NEAR(largest / diff.ratio, 1, 0.05);
    }
  const ErrorMap ulp = makeErrorMap(*trace, tensorAt(0, 1, "out"), ErrorUnit::kUlp);
  for (const double v : ulp.values) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(makeErrorMap(*trace, tensorAt(1, 0, "out"), ErrorUnit::kUlp).missing,
            "--verify with --capture values:steps=1 would show it");
}

TEST(ErrorMapTest, OtherGroupsShowTheMapThatTheFirstRankRecordedForAll) {
  const auto whole = recordedTrace();
  traces::Trace trace;
  for (const auto& members : {std::vector{0, 1}, std::vector{2, 3}}) {
    traces::GroupRecord group;
    group.id = traces::GroupId::of(members[0]);
    group.axis = traces::GroupAxis::kCp;
    for (const int rank : members) group.members.push_back(WorldRank::of(rank));
    trace.add(group);
  }
  for (int rank = 0; rank < 4; ++rank)
    for (const traces::Event& event : whole->events(WorldRank::of(rank)))
      trace.add(std::span<const traces::Event>(&event, 1));
  traces::TensorRecord map;
  Cursor cursor = tensorAt(0, 0, "out");
  map.tensor = traces::TensorName::of("error.abs.out");
  map.place = cursor.place;
  map.place.stage = RingStep::none();
  map.shape = {1, 2};
  map.has_values = true;
  trace.add(std::vector{map});
  trace.addValues(map.id, traces::Bytes(8));
  ASSERT_EQ(makeErrorMap(trace, cursor, ErrorUnit::kAbsolute).missing, "");
  cursor.group = 1;
  EXPECT_EQ(makeErrorMap(trace, cursor, ErrorUnit::kAbsolute).missing, "");
  trace.add(whole->diffs().front());
  EXPECT_NE(makeDiffScene(trace, cursor, ErrorUnit::kAbsolute, false)
                .map_title.find("worst of all 2 groups"),
            std::string::npos);
}

TEST(ErrorMapTest, AMapOfAttendNamesOwnersAndOnlyPossibleCaptures) {
  traces::Trace trace;
  traces::RunSpec run;
  run.command = traces::Command::kAttend;
  run.cp = 2;
  trace.add(run);
  for (int rank = 0; rank < 2; ++rank) {
    traces::Event event;
    event.rank = WorldRank::of(rank);
    event.end_ns = 1;
    event.place = test::forwardAt(0, 0);
    trace.add(std::span<const traces::Event>(&event, 1));
    traces::ShardRecord shard;
    shard.buffer = "q";
    shard.rank = WorldRank::of(rank);
    shard.global_from_local = {{2 * rank, 2 * rank + 2}};
    trace.add(shard);
  }
  traces::DiffRecord diff;
  diff.tensor = "out";
  diff.place = test::forwardAt(0, 0);
  diff.place.stage = RingStep::none();
  diff.rows.shape = {1, 1, 4};
  diff.rows.codes = {0, 0, 0, 0};
  trace.add(diff);
  const Cursor cursor = tensorAt(0, 0, "out");
  const ErrorMap map = makeErrorMap(trace, cursor, ErrorUnit::kLimit);
  EXPECT_EQ(map.owners,
            (std::vector<OwnedSpan>{{0, 2, WorldRank::of(0)}, {2, 4, WorldRank::of(1)}}));
  EXPECT_TRUE(makeErrorMap(trace, cursor, ErrorUnit::kUlp).missing.starts_with("train with "));
}

TEST(DiffSceneTest, SaysWhatFp8DoesByItselfToTheChosenTensorAlone) {
  traces::Trace trace;
  for (const bool rounded : {true, false}) {
    traces::DiffRecord diff;
    diff.tensor = rounded ? "dk" : "dq";
    diff.place = test::forwardAt(0, 0);
    if (rounded) diff.quantisation = 0.0271;
    trace.add(diff);
  }
  const auto said = [&](const char* tensor) {
    return makeDiffScene(trace, tensorAt(0, 0, tensor), ErrorUnit::kLimit, false).quantisation;
  };
  EXPECT_EQ(said("dk"), "Rounding to FP8 alone moves it by 2.7 % of its size");
  EXPECT_EQ(said("dq"), "");
}

TEST(TimelineTicksTest, HaveDistinctWordsAtEveryWidth) {
  for (const double width : {200.0, 1800.0, 2500.0, 3700.0}) {
    const TimeScale scale{0, 1'300'000, 0, width};
    std::set<std::string> words;
    int ticks = 0;
    for (std::int64_t t = 0; t <= scale.end_ns; t += scale.tick(scale.ticks()), ++ticks)
      words.insert(describeDuration(t));
    EXPECT_EQ(std::ssize(words), ticks) << "at " << width;
  }
}

TEST(TensorRowTest, DistinguishesTensorsOfOneKindByBlockAndPiece) {
  TensorRow row;
  row.record.tensor.kind = traces::TensorKind::kBlockLse;
  row.record.source_rank = WorldRank::of(2);
  row.record.piece = traces::PieceIndex::of(1);
  EXPECT_EQ(row.name(), "block_lse of block 2, piece 1");
  row.record.pass = traces::Pass::kRecompute;
  EXPECT_EQ(row.name(), "block_lse of block 2, piece 1, recomputed");
  row.record = {};
  row.record.tensor.kind = traces::TensorKind::kQ;
  EXPECT_EQ(row.name(), "q");
}

TEST(TensorRowTest, NonFiniteValuesHaveNoRange) {
  TensorRow row;
  row.record.tensor.kind = traces::TensorKind::kRunningLse;
  row.record.shape = {1, 2, 4};
  row.record.stats.inf = 8;
  EXPECT_EQ(row.range(), "nothing finite");
  const std::string note = makeTensorScene({}, row, {}).note;
  EXPECT_NE(note.find("nothing finite, ▲ 0 NaN, 8 Inf"), std::string::npos) << note;
  row.record.stats = {-2.5, 3, 0, 3, 0, 7};
  EXPECT_EQ(row.range(), "-2.5 … 3");
}

TEST(ErrorMapTest, TheHistogramCountsByTheLogarithm) {
  const auto bins = logHistogram({0, 0.05, 0.2, 1.5, 15, 1e9, NAN}, 1, 1, 1);
  EXPECT_EQ(bins, (std::vector<std::int64_t>{3, 4}));
}

TEST(TensorSliceTest, TakesTheLastTwoDimensionsAtAnIndexOfTheOthers) {
  std::vector<double> values(2 * 3 * 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const TensorSlice slice = tensorSlice({2, 3, 4}, values, {1});
  EXPECT_EQ(slice.rows, 3);
  EXPECT_EQ(slice.columns, 4);
  EXPECT_EQ(slice.at(2, 3), 23);
  EXPECT_EQ(tensorSlice({2, 3, 4}, values, {99}).at(0, 0), 12) << "clamped";
  EXPECT_EQ(tensorSlice({4}, {1, 2, 3, 4}, {}).rows, 4);
  EXPECT_EQ(tensorSlice({}, {7}, {}).at(0, 0), 7);
  EXPECT_TRUE(tensorSlice({2, 3}, {1}, {}).values.empty()) << "fewer values than the shape says";
}

TEST(TensorSliceTest, FitsTheRangeToMostOfTheValuesAndCountsWhatIsNotFinite) {
  std::vector<double> values(1000, 0.5);
  for (std::size_t i = 0; i < 500; ++i) values[i] = -0.5;
  values[0] = 1e6;
  values.push_back(NAN);
  values.push_back(INFINITY);
  const ValueRange range = autoFit(values);
  EXPECT_EQ(range.low, -0.5);
  EXPECT_EQ(range.high, 0.5);
  const ValueHistogram histogram = valueHistogram(values, 10);
  EXPECT_EQ(histogram.nan, 1);
  EXPECT_EQ(histogram.inf, 1);
  EXPECT_EQ(histogram.bins.front(), 999);
  EXPECT_EQ(histogram.bins.back(), 1);
}

TEST(MemoryLawTest, TheMeasuredPeakLiesOnTheCurve) {
  const MemoryPeak peak = memoryPeak(*recordedTrace(), WorldRank::of(2));
  ASSERT_GT(peak.bytes, 0);
  EXPECT_NE(peak.cause.find("of it"), std::string::npos);
  const MemoryLaw law = memoryLaw(peak, 4);
  EXPECT_NEAR(law.bytesAt(4), static_cast<double>(peak.bytes), 1);
  EXPECT_GT(law.bytesAt(1), law.bytesAt(2));
  EXPECT_NEAR(law.bytesAt(1) - law.replicated_bytes, 4 * law.sharded_bytes, 1);
}

TEST(RunSummaryTest, PutsARunIntoALine) {
  const auto good = describe(runSummary(*recordedTrace(), 0));
  EXPECT_EQ(good.find("step 0: ✓ worst"), 0u) << good;
  EXPECT_NE(good.find("balance 100 %"), std::string::npos) << good;
  RingRun wrong;
  wrong.naive_sum = true;
  const auto bad = describe(runSummary(*recordedTrace(wrong), 0));
  EXPECT_EQ(bad.find("step 0: ▲ worst"), 0u) << bad;
}

TEST(RunSummaryTest, ANanStaysTheWorst) {
  traces::Trace trace;
  for (const double multiple : {1.0, std::nan(""), 2.0}) {
    traces::DiffRecord diff;
    diff.tensor = "dk";
    diff.ratio = multiple;
    trace.add(diff);
  }
  const auto summary = runSummary(trace, 0);
  ASSERT_TRUE(summary.worst_ratio);
  EXPECT_TRUE(std::isnan(*summary.worst_ratio));
  EXPECT_EQ(describe(summary).find("step 0: ▲ worst"), 0u) << describe(summary);
}

}  // namespace
}  // namespace ringscope::viz
