// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>

#include "tests/viz/sample_trace.h"
#include "traces/core/error.h"
#include "viz/hub/hub.h"
#include "viz/maths/time_scale.h"
#include "viz/scene/coverage_scene.h"
#include "viz/scene/error_map.h"
#include "viz/scene/memory_estimate.h"
#include "viz/scene/memory_law.h"
#include "viz/scene/memory_series.h"
#include "viz/scene/merge_history.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/run_summary.h"
#include "viz/scene/tensor_slice.h"
#include "viz/scene/token_table.h"
#include "viz/style/colormap.h"
#include "viz/style/theme.h"
#include "viz/window/run_config.h"

namespace ringscope::viz {
namespace {

using traces::Direction;

TEST(CoverageSceneTest, FillsStepByStepUntilEveryPairWasAttendedOnce) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  int before = 0;
  for (std::int16_t step = 0; step < 4; ++step) {
    const auto scene = coverageScene(hub.trace(), hub.index(), {0, 0, Direction::kForward, step});
    int attended = 0;
    for (const auto& cell : scene.cells) attended += cell.attended;
    EXPECT_GT(attended, before);
    before = attended;
    EXPECT_EQ(scene.complete, step == 3);
    EXPECT_EQ(scene.doubled + scene.missing + scene.unwanted, 0);
  }
  const auto whole = coverageScene(hub.trace(), hub.index(), {0, 0, Direction::kForward, 3});
  EXPECT_EQ(before, 8 * 9 / 2);
  EXPECT_DOUBLE_EQ(whole.efficiency(), 1.0);
  EXPECT_EQ(whole.at(5, 1).rank, 2);
  EXPECT_EQ(whole.at(5, 1).ring_step, 1);
  EXPECT_DOUBLE_EQ(contiguousCap(4), 4.0 / 7);
}

TEST(MergeHistoryTest, TheBlocksOfARowGiveTheRecordedRowAndAPlainSumDoesNot) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {}), "sample", false);
  const auto right =
      mergeHistory(hub.trace(), hub.index(), {0, 1, Direction::kForward, 0}, 2, 1, 31);
  ASSERT_EQ(right.missing, "");
  ASSERT_EQ(right.steps.size(), 4u);
  EXPECT_LT(right.largest_error_merged, 1e-5);
  EXPECT_GT(right.largest_error_naive, 1e-2);
  double weights = 0;
  for (const auto& step : right.steps) weights += step.weight;
  EXPECT_NEAR(weights, 1.0, 1e-5);
  EXPECT_NEAR(right.steps.back().running_lse, right.lse, 1e-5);
  // A query of the first chunk of rank 0 sees nothing of the blocks that come after its own.
  const auto first =
      mergeHistory(hub.trace(), hub.index(), {0, 0, Direction::kForward, 0}, 0, 0, 0);
  EXPECT_TRUE(first.steps[0].attended);
  EXPECT_FALSE(first.steps[1].attended);
  // Values are kept of the first step alone.
  EXPECT_NE(mergeHistory(hub.trace(), hub.index(), {1, 0, Direction::kForward, 0}, 0, 0, 0).missing,
            "");
}

TEST(MergeHistoryTest, OnANaiveSumItIsThePlainSumThatEqualsTheRecording) {
  Hub hub;
  hub.setTrace(test::sampleTrace(4, {"naive_sum_merge"}), "sample", false);
  const auto wrong =
      mergeHistory(hub.trace(), hub.index(), {0, 0, Direction::kForward, 0}, 3, 0, 31);
  EXPECT_LT(wrong.largest_error_naive, 1e-5);
  EXPECT_GT(wrong.largest_error_merged, 1e-2);
}

TEST(PositionRowsTest, RestartedPositionsAreMarkedAndCounted) {
  const auto right = positionRows(*test::sampleTrace(4, {}), 0);
  EXPECT_EQ(wrongPositions(right), (std::pair<std::int64_t, std::int64_t>{0, 128}));
  EXPECT_EQ(right[1].runs.size(), 2u);
  const auto wrong = positionRows(*test::sampleTrace(4, {"missing_position_ids"}), 0);
  EXPECT_EQ(wrongPositions(wrong), (std::pair<std::int64_t, std::int64_t>{112, 128}));
  EXPECT_TRUE(wrong[1].runs[0].wrong);
  EXPECT_EQ(wrong[1].runs[0].begin, 0);
  EXPECT_EQ(wrong[1].runs[0].should_begin, 16);
}

TEST(MemorySeriesTest, AddsCategoriesUpAndKeepsPeaks) {
  const auto series = memorySeries(*test::sampleTrace(4, {}), 2, 100);
  EXPECT_EQ(series.columns.size(), 100u);
  EXPECT_GT(series.columns.back()[static_cast<std::size_t>(traces::MemoryCategory::kWeights)],
            100'000);
  EXPECT_GT(series.peak_bytes, 1'000'000);
}

TEST(TimeScaleTest, PixelsAndTimesAreInverse) {
  const TimeScale scale{1000, 901'000, 100, 900};
  EXPECT_DOUBLE_EQ(scale.x(1000), 100);
  EXPECT_EQ(scale.ns(scale.x(450'000)), 450'000);
  EXPECT_EQ(scale.tick(10), 100'000);
  EXPECT_EQ(scale.tick(18), 50'000);
}

TEST(UnitsTest, SizesAndTimesAreSaidAsPeopleDo) {
  EXPECT_EQ(describeBytes(131072), "128 KiB");
  EXPECT_EQ(describeBytes(2202010), "2.1 MiB");
  EXPECT_EQ(describeDuration(38'000), "38.0 µs");
  EXPECT_EQ(describeDuration(412), "412 ns");
}

/// Text on its ground must reach 4.5 : 1; faint is for what may be missed.
TEST(ThemeTest, EveryTextTokenIsReadableOnEveryGround) {
  for (const Theme& theme : Theme::all()) {
    for (const QColor& ground : {theme.background, theme.panel, theme.raised})
      for (const QColor& ink :
           {theme.text, theme.dim, theme.accent, theme.right, theme.wait, theme.wrong})
        EXPECT_GE(contrast(ink, ground), 4.5)
            << theme.name.toStdString() << " " << ink.name().toStdString() << " on "
            << ground.name().toStdString();
    EXPECT_GE(contrast(theme.on_accent, theme.accent), 4.5) << theme.name.toStdString();
    EXPECT_GE(contrast(theme.on_plate, theme.plate), 4.5);
  }
}

TEST(CoverageSceneTest, EveryStrategyAndBalanceCoversTheMaskOnce) {
  for (const char* options : {"--strategy all_gather", "--strategy ulysses", "--strategy hybrid",
                              "--balance striped", "--mask window --window 20"}) {
    const auto trace = traces::openTrace(test::traceFileWith(options));
    Hub hub;
    hub.setTrace(trace, "sample", false);
    hub.setPlace({0, 1, Direction::kForward, 0});
    const auto last = static_cast<std::int16_t>(hub.scene().ring_steps - 1);
    const auto scene = coverageScene(hub.trace(), hub.index(), {0, 1, Direction::kForward, last});
    EXPECT_TRUE(scene.complete) << options;
    EXPECT_EQ(scene.doubled, 0) << options;
    EXPECT_EQ(scene.missing, 0) << options;
    EXPECT_EQ(scene.unwanted, 0) << options;
  }
}

/// The last ring step of the first layer's forward pass.
CoverageScene coverageAtTheEnd(std::shared_ptr<traces::Trace> trace) {
  Hub hub;
  hub.setTrace(std::move(trace), "sample", false);
  hub.setPlace({0, 0, Direction::kForward, 0});
  const auto last = static_cast<std::int16_t>(hub.scene().ring_steps - 1);
  return coverageScene(hub.trace(), hub.index(), {0, 0, Direction::kForward, last});
}

TEST(CoverageSceneTest, DocumentsWantNoPairAcrossTheirBorders) {
  for (const std::string& file :
       {test::documentsTraceFile(""), test::documentsTraceFile("--window 20"),
        test::documentsTraceFile("--strategy all_gather"),
        test::traceFileWith("--mask documents --batch 1 --separator .")}) {
    const CoverageScene scene = coverageAtTheEnd(traces::openTrace(file));
    EXPECT_TRUE(scene.complete);
    EXPECT_EQ(scene.missing + scene.doubled + scene.unwanted + scene.unknown, 0);
    int unwanted = 0;
    for (int q = 0; q < scene.chunks; ++q)
      for (int k = 0; k < q; ++k) unwanted += scene.at(q, k).wanted == Wanted::kNo;
    EXPECT_GT(unwanted, 0) << "some earlier chunk is of other documents only";
  }
}

TEST(CoverageSceneTest, WhereDocumentsAreNotRecordedNothingIsCalledMissing) {
  const auto trace = traces::openTrace(test::documentsTraceFile(""));
  nlohmann::json run = trace->run();
  run.erase("documents");
  traces::Chunk note;
  note.kind = traces::ChunkKind::kNotes;
  note.body = traces::encodeNote({"run", run.dump()});
  trace->add(note);
  const CoverageScene scene = coverageAtTheEnd(trace);
  EXPECT_TRUE(scene.complete);
  EXPECT_EQ(scene.missing + scene.doubled + scene.unwanted, 0);
  EXPECT_GT(scene.unknown, 0);
}

TEST(TokenTableTest, ShowsEachTokenItsPositionAndTheTokenThatItPredicts) {
  const TokenTable table = tokenTable(*test::sampleTrace(4, {}), 0, 1);
  EXPECT_EQ(table.missing, "");
  EXPECT_EQ(table.sequence_length, 128);
  ASSERT_EQ(table.cells.size(), 32u);
  EXPECT_EQ(table.cells[0].global, 16);
  EXPECT_EQ(table.cells[16].global, 96);
  EXPECT_TRUE(table.cells[16].begins_chunk);
  EXPECT_EQ(table.cells[15].label, table.cells[15].should_label)
      << "the next token is on another rank";
  ASSERT_EQ(table.buffers.size(), 3u);
  for (const auto& lane : table.buffers) {
    EXPECT_TRUE(lane.sharded) << lane.name;
    EXPECT_EQ(lane.wrong, 0) << lane.name;
    EXPECT_EQ(lane.compared, 32) << lane.name;
  }
}

TEST(TokenTableTest, CountsThePositionsThatARankMadeByItself) {
  const TokenTable table = tokenTable(*test::sampleTrace(4, {"missing_position_ids"}), 0, 1);
  const BufferLane& positions = table.buffers.back();
  EXPECT_EQ(positions.name, "position_ids");
  EXPECT_FALSE(positions.sharded);
  EXPECT_EQ(positions.wrong, 32);
  EXPECT_EQ(table.cells[3].position, 3);
  EXPECT_EQ(table.cells[3].should_position, 19);
}

TEST(TokenTableTest, PackedDocumentsCountFromZeroEachAndTheirBordersAreMarked) {
  const auto trace = traces::openTrace(test::packedTraceFile());
  EXPECT_EQ(trace->run()["positions"], "documents");
  int borders = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const TokenTable table = tokenTable(*trace, 0, rank);
    for (const TokenCell& cell : table.cells) {
      borders += cell.begins_document;
      EXPECT_EQ(cell.begins_document, cell.global == 20) << cell.global;
      EXPECT_FALSE(cell.positionWrong()) << cell.global;
      EXPECT_EQ(cell.should_position, cell.global < 20 ? cell.global : cell.global - 20);
    }
  }
  EXPECT_EQ(borders, 1);
  EXPECT_EQ(wrongPositions(positionRows(*trace, 0)).first, 0);
  EXPECT_TRUE(traces::diagnose(*trace).findings().empty());
}

TEST(TokenTableTest, BytesReadAsPeopleReadThem) {
  EXPECT_EQ(tokenText('a', 256), "a");
  EXPECT_EQ(tokenText(' ', 256), "␣");
  EXPECT_EQ(tokenText('\n', 256), "↵");
  EXPECT_EQ(tokenText(200, 256), "·200");
  EXPECT_EQ(tokenText(97, 32000), "97");
}

TEST(ErrorMapTest, HasAnErrorForEachHeadAndPositionAndTheRanksThatOwnThem) {
  const auto trace = test::sampleTrace(4, {});
  const ErrorMap map = errorMap(*trace, {0, 1}, "dk", ErrorUnit::kAbsolute);
  EXPECT_EQ(map.missing, "");
  EXPECT_EQ(map.heads, 2);
  EXPECT_EQ(map.positions, 128);
  ASSERT_EQ(map.owners.size(), 8u);
  EXPECT_EQ(map.owners[0].rank, 0);
  EXPECT_EQ(map.owners[7].rank, 0);
  double largest = 0;
  for (const double v : map.values) largest = std::max(largest, v);
  for (const auto& diff : trace->diffs())
    if (diff.isolated && diff.tensor == "dk" && diff.place.layer == 1 &&
        diff.place.train_step == 0) {
      EXPECT_FLOAT_EQ(static_cast<float>(largest), static_cast<float>(diff.error));
      EXPECT_EQ(map.noise, diff.noise);
    }
  const ErrorMap ulp = errorMap(*trace, {0, 1}, "out", ErrorUnit::kUlp);
  for (const double v : ulp.values) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(errorMap(*trace, {1, 0}, "out", ErrorUnit::kUlp).missing,
            "--verify with --capture values:steps=1");
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

TEST(MemoryLawTest, TheMeasuredPeakLiesOnTheCurveAndTheEstimateIsNearIt) {
  const auto trace = test::sampleTrace(4, {});
  const MemoryPeak peak = memoryPeak(*trace, 2);
  ASSERT_GT(peak.bytes, 0);
  EXPECT_NE(peak.cause.find("of it"), std::string::npos);
  const MemoryLaw law = memoryLaw(peak, 4);
  EXPECT_NEAR(law.bytesAt(4), static_cast<double>(peak.bytes), 1);
  EXPECT_GT(law.bytesAt(1), law.bytesAt(2));
  EXPECT_NEAR(law.bytesAt(1) - law.replicated_bytes, 4 * law.sharded_bytes, 1);
  const auto estimate = estimateMemory(ModelShape(), 128, 1, 4, "float32");
  EXPECT_NEAR(static_cast<double>(estimate.total()) / static_cast<double>(peak.bytes), 1, 0.15);
}

TEST(RunSummaryTest, PutsARunIntoALine) {
  const auto good = describe(runSummary(*test::sampleTrace(4, {}), 0));
  EXPECT_EQ(good.find("✓ worst"), 0u) << good;
  const auto bad = describe(runSummary(*test::sampleTrace(4, {"naive_sum_merge"}), 0));
  EXPECT_EQ(bad.find("▲ worst"), 0u) << bad;
}

TEST(ColormapTest, MagnitudeRisesInBrightnessAndTheSignedMapIsSymmetric) {
  double last = -1;
  for (int i = 0; i <= 20; ++i) {
    const QColor color = magnitudeColor(i / 20.0);
    const double brightness = 0.3 * color.redF() + 0.59 * color.greenF() + 0.11 * color.blueF();
    EXPECT_GT(brightness, last - 0.02);
    last = brightness;
  }
  EXPECT_EQ(signedColor(0), signedColor(0.1, 0.2));
  EXPECT_GT(signedColor(-1).blue(), signedColor(-1).red());
  EXPECT_GT(signedColor(1).red(), signedColor(1).blue());
  EXPECT_FALSE(magnitudeColor(NAN).isValid());
}

TEST(RunConfigTest, EveryKeyIsReadAndWhatChangedIsSaid) {
  const RunConfig before;
  RunConfig after = RunConfig::fromJson(
      {{"cp", 2}, {"balance", "none"}, {"mistakes", {"naive_sum_merge"}}, {"steps", 3}}, "test");
  EXPECT_EQ(after.cp, 2);
  EXPECT_TRUE(after.arguments().join(' ').contains("--mistake naive_sum_merge"));
  EXPECT_EQ(changes(before, after),
            "cp: 4 → 2 · balance: head_tail → none · mistakes: none → naive_sum_merge");
  EXPECT_THROW(RunConfig::fromJson({{"cp", "two"}}, "test"), Error);
  EXPECT_THROW(RunConfig::fromJson({{"color", 1}}, "test"), Error);
  after.seq_len = 63;
  EXPECT_TRUE(refusal(after, 4).contains("do not divide"));
}

}  // namespace
}  // namespace ringscope::viz
