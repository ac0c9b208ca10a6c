// SPDX-License-Identifier: GPL-3.0-or-later
// Scenes of recordings that the engine makes during the test: the statements of views about real
// runs.
#include <gtest/gtest.h>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/sample_trace.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/scene/memory_estimate.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/stage_window.h"
#include "viz/views/coverage/coverage_scene.h"
#include "viz/views/memory/memory_law_scene.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::viz {
namespace {

using test::IndexedTrace;
using traces::Direction;

std::vector<std::string> everyKindOfRun() {
  return {test::sampleTraceFile(4, {}),
          test::traceFileWith("--strategy all_gather"),
          test::traceFileWith("--strategy ulysses"),
          test::traceFileWith("--strategy hybrid"),
          test::traceFileWith("--balance striped"),
          test::traceFileWith("--balance none"),
          test::traceFileWith("--mask window --window 20"),
          test::traceFileWith("--mask documents --batch 1 --separator ."),
          test::traceFileWith("--dtype bfloat16"),
          test::traceFileWith("--sinks"),
          test::traceFileWith("--sinks --strategy hybrid"),
          test::documentsTraceFile(""),
          test::documentsTraceFile("--window 20"),
          test::documentsTraceFile("--strategy all_gather")};
}

std::vector<WorldRank> everyone() {
  return {WorldRank::of(0), WorldRank::of(1), WorldRank::of(2), WorldRank::of(3)};
}

TEST(EngineRecordingTest, EveryPairOfTheMaskIsAttendedOnceAndThePlanWasDone) {
  for (const std::string& file : everyKindOfRun()) {
    const IndexedTrace sample(traces::openTrace(file));
    for (const auto direction : {Direction::kForward, Direction::kBackward}) {
      Place place = test::placeAt(0, 0, direction, 0);
      // `attend` without dout has no backward.
      if (std::ranges::find(sample.trace->moments(), place) == sample.trace->moments().end())
        continue;
      place.stage = RingStep::of(countRingSteps(*sample.trace, place, everyone())).previous();
      const CoverageScene scene = makeCoverageScene(*sample.trace, IndexedTrace::at(place));
      EXPECT_EQ(describe(scene), "✓ every pair of the mask attended exactly once")
          << file << " " << scene.note;
      EXPECT_EQ(scene.work_done, scene.work_total) << file;
    }
  }
}

TEST(EngineRecordingTest, TheBlocksOfEveryRowGiveTheRecordedRow) {
  for (const std::string& file : everyKindOfRun()) {
    const IndexedTrace sample(traces::openTrace(file));
    for (const WorldRank rank : everyone())
      for (const std::int64_t head : {0, 1})
        for (const std::int64_t query : {0, 7}) {
          const MergeHistory history =
              mergeHistory(*sample.trace, test::forwardAt(0, 0), everyone(), rank, head, query);
          ASSERT_EQ(history.missing, "") << file;
          EXPECT_LE(history.largest_error_merged, history.rounding)
              << file << ": rank " << rank.value() << ", query " << query;
        }
  }
}

TEST(EngineRecordingTest, PackedDocumentsHaveNoFinding) {
  const auto trace = traces::openTrace(test::packedTraceFile());
  ASSERT_NE(trace->intent(0, WorldRank::of(0)), nullptr);
  EXPECT_EQ(trace->intent(0, WorldRank::of(0))->positions, traces::PositionRule::kEachDocument);
  EXPECT_EQ(makePositionStrip(*trace, Cursor()).wrong, 0);
  EXPECT_TRUE(traces::diagnose(*trace).findings().empty());
}

TEST(EngineRecordingTest, TheMeasuredPeakIsNearTheEstimate) {
  const auto trace = test::sampleTrace(4, {});
  const MemoryPeak peak = memoryPeak(*trace, WorldRank::of(2));
  const auto estimate = estimateMemory(ModelShape(), 128, 1, 4, "float32");
  // The peak includes temporary memory of the optimizer, which the estimate leaves out.
  EXPECT_NEAR(static_cast<double>(estimate.total()) / static_cast<double>(peak.bytes), 1, 0.2);
}

}  // namespace
}  // namespace ringscope::viz
