// SPDX-License-Identifier: GPL-3.0-or-later
// Views of numbers and words, painted from handwritten scenes without a trace.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/place_at.h"
#include "tests/viz/drawn.h"
#include "viz/views/diff/diff_painter.h"
#include "viz/views/inspector/inspector_painter.h"
#include "viz/views/memory/memory_painter.h"
#include "viz/views/merge/merge_painter.h"
#include "viz/views/tensor/tensor_painter.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::drawn;
using test::has;
using traces::Direction;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(MergePainterTest, DrawsABlockALineAndWhetherItEqualsTheRecording) {
  MergeScene scene;
  scene.rank = scene.history.attending = WorldRank::of(5);
  scene.layer = Layer::of(1);
  scene.row = {2, 31};
  scene.token = TokenIndex::of(95);
  scene.ring_steps = 2;
  scene.now = RingStep::of(1);
  scene.history.steps = {
      {RingStep::of(0), WorldRank::of(5), true, "", 3.0, 3.0, 0.75, 0.5},
      {RingStep::of(1), WorldRank::of(7), false, "other documents", 0, 3.0, 0, 0.5}};
  scene.history.rounding = 1e-6;
  scene.history.out = 0.5;
  scene.history.merged = 0.5;
  scene.history.naive = 1.25;
  scene.history.largest_error_naive = 0.75;
  const auto picture = drawn(
      {900, 560}, [&](QPainter& p, const QRectF& area) { paintMerge(p, area, scene, dark()); });
  EXPECT_TRUE(has(*picture, "head 2")) << picture->words();
  EXPECT_TRUE(has(*picture, "token 95 of the sequence"));
  EXPECT_TRUE(has(*picture, "75.00 %"));
  EXPECT_TRUE(has(*picture, "nothing for this row: other documents"));
  EXPECT_EQ(picture->find("equals what was recorded")->color, dark().right);
  EXPECT_EQ(picture->find("off by up to 0.75")->color, dark().wrong);
  EXPECT_FALSE(has(*picture, "attended by rank"));
  scene.history.attending = WorldRank::of(4);
  EXPECT_TRUE(
      has(*drawn({900, 560},
                 [&](QPainter& p, const QRectF& area) { paintMerge(p, area, scene, dark()); }),
          "attended by rank 4"));
  scene.note = "Not recorded; --capture values would show it.";
  const auto missing = drawn(
      {900, 560}, [&](QPainter& p, const QRectF& area) { paintMerge(p, area, scene, dark()); });
  EXPECT_TRUE(has(*missing, "Not recorded"));
  EXPECT_FALSE(has(*missing, "75.00 %"));
}

TEST(MergePainterTest, BuildsUpWithTheRingStepsAndFillsInTheFormulas) {
  MergeScene scene;
  scene.rank = scene.history.attending = WorldRank::of(0);
  const double both = std::log(std::exp(1.0) + std::exp(2.0)), all = std::log(2 * std::exp(both));
  scene.history.steps = {
      {RingStep::of(0), WorldRank::of(0), true, "", 1, 1, std::exp(1 - all), 0.5, 0.5},
      {RingStep::of(1), WorldRank::of(3), true, "", 2, both, std::exp(2 - all), 0.6339, 0.683},
      {RingStep::of(2), WorldRank::of(2), true, "", both, all, 0.5, 0.7, 0.766}};
  scene.history.lse = all;
  const auto picture = [&](int ring_step, QSizeF size) {
    scene.now = RingStep::of(ring_step);
    return drawn(size,
                 [&](QPainter& p, const QRectF& area) { paintMerge(p, area, scene, dark()); });
  };
  const auto first = picture(0, {1300, 700});
  EXPECT_TRUE(has(*first, "100.00 %")) << first->words();
  EXPECT_TRUE(has(*first, "to come"));
  EXPECT_TRUE(has(*first, "weight so far"));
  EXPECT_TRUE(has(*first, "1.0000 = log exp(1.0000)"));
  const auto second = picture(1, {1300, 700});
  EXPECT_TRUE(has(*second, "2.3133 = log( exp(1.0000) + exp(2.0000) )")) << second->words();
  EXPECT_TRUE(has(*second, "0.6339 = 0.2689 · 0.5000 + 0.7311 · 0.6830")) << second->words();
  EXPECT_TRUE(has(*second, "26.89 %")) << second->words();
  EXPECT_TRUE(has(*second, "73.11 %"));
  const auto last = picture(2, {1300, 700});
  EXPECT_FALSE(has(*last, "to come"));
  EXPECT_TRUE(has(*last, "weight in the result"));
  EXPECT_TRUE(has(*last, "50.00 %"));
  EXPECT_TRUE(has(*picture(1, {708, 410}), "0.6339 = ")) << "also on a small stage";
}

MemoryScene halfAMegabyte() {
  MemoryScene scene;
  scene.rank = WorldRank::of(7);
  scene.end_ns = 10'000'000;
  scene.peak.bytes = 1 << 19;
  scene.peak.time_ns = 4'000'000;
  scene.peak.by_category[static_cast<std::size_t>(traces::MemoryCategory::kKv)] = 1 << 19;
  scene.peak.cause = "attend at step 0";
  scene.series.columns.resize(100, scene.peak.by_category);
  scene.series.peak_bytes = 1 << 19;
  scene.law = {2, 1 << 19, 0};
  return scene;
}

TEST(MemoryPainterTest, DrawsThePeakAndTheStackOfCategories) {
  const MemoryScene scene = halfAMegabyte();
  const auto picture = drawn(
      {900, 560}, [&](QPainter& p, const QRectF& area) { paintMemory(p, area, scene, dark()); });
  EXPECT_TRUE(has(*picture, "rank 7 holds at most 512 KiB")) << picture->words();
  EXPECT_TRUE(has(*picture, "attend at step 0"));
  const QRectF plot = memoryAreas(picture->area()).over_time;
  double tallest = 0;
  for (const test::DrawnShape& shape : picture->shapes())
    if (shape.fill == QColor("#C89A3C") && shape.box.width() > 100)
      tallest = std::max(tallest, shape.box.height());
  EXPECT_GT(tallest, plot.height() * 0.5) << "KV is all that is held";
}

TEST(MemoryPainterTest, ShowsTheNoteAboutMemoryWithoutACategory) {
  MemoryScene scene = halfAMegabyte();
  scene.unseen = "Of the 9 MiB that the process had at most, all else is not told apart.";
  const auto picture = drawn(
      {900, 560}, [&](QPainter& p, const QRectF& area) { paintMemory(p, area, scene, dark()); });
  EXPECT_TRUE(has(*picture, "rank 7 holds at most 512 KiB that was seen")) << picture->words();
  EXPECT_TRUE(has(*picture, "not counted. " + scene.unseen)) << picture->words();
}

TEST(MemoryPainterTest, APointOfThePlotIsAnInstant) {
  const MemoryScene scene = halfAMegabyte();
  const QRectF area(0, 0, 900, 560);
  const QRectF plot = memoryAreas(area).over_time;
  ASSERT_TRUE(memoryHit(plot.center(), area, scene));
  EXPECT_NEAR(static_cast<double>(*memoryHit(plot.center(), area, scene)), 5e6, 2);
  EXPECT_FALSE(memoryHit(memoryAreas(area).law.center(), area, scene));
}

DiffScene oneLayer() {
  DiffScene scene;
  DiffTable table{"Isolated", "where an error is born", {"out", "dk"}, {}};
  const std::vector<std::optional<DiffCell>> layer = {
      DiffCell{"0.9x", false, true, "out", test::placeAt(3, 0, Direction::kForward, 0)},
      DiffCell{"8,400x", true, false, "dk", test::placeAt(3, 0, Direction::kBackward, 0)}};
  table.layers.push_back(layer);
  scene.tables = {table};
  scene.rest = {{"loss", "1.1x", 1e-7, 1e-7, false}};
  scene.map_title = "out of layer 0, isolated";
  scene.map.heads = 2;
  scene.map.positions = 4;
  scene.map.values = {0.1, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 8400};
  scene.map.owners = {{0, 2, WorldRank::of(0)}, {2, 4, WorldRank::of(1)}};
  return scene;
}

TEST(DiffPainterTest, DrawsMultiplesTheRestAndTheMap) {
  const auto picture = drawn(
      {1400, 700}, [](QPainter& p, const QRectF& area) { paintDiff(p, area, oneLayer(), dark()); });
  ASSERT_NE(picture->find("8,400x"), nullptr) << picture->words();
  EXPECT_EQ(picture->find("8,400x")->color, dark().wrong);
  EXPECT_EQ(picture->find("0.9x")->color, dark().right);
  EXPECT_TRUE(has(*picture, "loss"));
  EXPECT_TRUE(has(*picture, "out of layer 0, isolated"));
  EXPECT_FALSE(picture->images().empty()) << "the map";
}

TEST(DiffPainterTest, APointOnACellChoosesTheCell) {
  const DiffScene scene = oneLayer();
  for (const QSizeF size : {QSizeF(700, 560), QSizeF(1400, 700)}) {
    const auto picture =
        drawn(size, [&](QPainter& p, const QRectF& area) { paintDiff(p, area, scene, dark()); });
    const auto cell = diffHit(picture->find("8,400x")->at, picture->area(), scene);
    ASSERT_TRUE(cell);
    EXPECT_EQ(cell->tensor, "dk");
    EXPECT_EQ(cell->place.direction, Direction::kBackward);
    EXPECT_FALSE(diffHit({2, 2}, picture->area(), scene));
    const auto units = diffUnits(picture->area(), scene);
    ASSERT_EQ(units.size(), 4u);
    for (std::size_t u = 1; u < units.size(); ++u)
      EXPECT_LT(units[u - 1].box.right(), units[u].box.left()) << "no button covers another";
  }
}

TensorScene fourValues() {
  TensorScene scene;
  scene.name = "q";
  scene.where = "step 0";
  scene.rank = WorldRank::of(7);
  scene.lead = {0, 3};
  scene.slice = {2, 2, {-1, 0.5, kNaN, 2}};
  scene.histogram = valueHistogram(scene.slice.values, 10);
  scene.range = autoFit(scene.slice.values);
  return scene;
}

TEST(TensorPainterTest, DrawsTheSliceItsValuesAndWhatIsNotFinite) {
  const TensorScene scene = fourValues();
  const QRectF area(0, 0, 700, 500);
  const QRectF matrix = tensorAreas(tensorCanvas(area)).matrix;
  const TensorLook look = wholeSlice(scene, {}, matrix);
  const auto picture = drawn(area.size(), [&](QPainter& p, const QRectF& whole) {
    paintTensor(p, whole, scene, look, dark());
  });
  EXPECT_TRUE(has(*picture, "[0, 3, :, :]")) << picture->words();
  EXPECT_TRUE(has(*picture, "[0, 0] = -1"));
  EXPECT_TRUE(has(*picture, "1 NaN, 0 Inf"));
  EXPECT_TRUE(has(*picture, "0.5")) << "cells are large enough for values";
}

TEST(TensorPainterTest, MouseAndKeysPickCellsAndMoveTheRange) {
  const TensorScene scene = fourValues();
  const QRectF canvas = tensorCanvas(QRectF(0, 0, 700, 500));
  const TensorAreas areas = tensorAreas(canvas);
  TensorLook look = wholeSlice(scene, {}, areas.matrix);
  look = pressed(scene, look, areas.matrix.topLeft() + QPointF(1.5, 0.5) * look.cell, canvas);
  EXPECT_EQ(look.row, 0);
  EXPECT_EQ(look.column, 1);
  look = picked(scene, look, 5, 5, areas.matrix);
  EXPECT_EQ(look.row, 1) << "there is no row beyond";
  const double low = look.range.low, high = look.range.high;
  look = pressed(scene, look, areas.range.center() - QPointF(40, 0), canvas);
  EXPECT_EQ(look.range.low, low);
  EXPECT_LT(look.range.high, high) << "the nearer end was taken";
  EXPECT_GT(zoomed(scene, look, 1, areas.matrix).cell, look.cell);
}

TEST(InspectorPainterTest, DrawsAllItsPartsAndKnowsTheirHeight) {
  InspectorScene scene;
  scene.rank = WorldRank::of(7);
  scene.title = "rank 7, layer 1";
  scene.attend_ns = 1000;
  scene.wait_ns = 900;
  scene.lse = {{RingStep::of(0), WorldRank::of(7), 3.5, 0.5, ""},
               {RingStep::of(1), WorldRank::of(5), std::nullopt, 0, "to come"}};
  scene.running_lse = {3.75, 128};
  scene.end_ns = 100;
  scene.memory = std::make_shared<const MemorySeries>(halfAMegabyte().series);
  scene.worst = {{"isolated (layer 1, dk)", "9.0x limit", true}};
  scene.clear = 4;
  scene.not_observable = 1;
  double height = 0;
  const auto picture = drawn({320, 900}, [&](QPainter& p, const QRectF& area) {
    height = paintInspector(p, area, scene, 50, dark());
  });
  for (const char* words : {"rank 7, layer 1", "3.50", "to come", "over 128 rows", "3.75",
                            "512 KiB", "9.0x limit", "4 rules clear"})
    EXPECT_TRUE(has(*picture, words)) << words << " in " << picture->words();
  EXPECT_EQ(picture->find("900 ns")->color, dark().wait) << "a long wait stands out";
  double lowest = 0;
  for (const auto& text : picture->texts()) lowest = std::max(lowest, text.at.y());
  EXPECT_GT(height, lowest);
  EXPECT_LT(height, lowest + 40);
}

}  // namespace
}  // namespace ringscope::viz
