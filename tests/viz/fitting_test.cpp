// SPDX-License-Identifier: GPL-3.0-or-later
// Painters with little room: no statement is left out, cut or covered. The stage is 708 × 410 in a
// window of 1280 × 720.
#include <gtest/gtest.h>

#include <QFontMetricsF>
#include <cmath>

#include "tests/support/place_at.h"
#include "tests/viz/drawn.h"
#include "viz/style/colormap.h"
#include "viz/views/coverage/coverage_painter.h"
#include "viz/views/diff/diff_painter.h"
#include "viz/views/diff/error_map_painter.h"
#include "viz/views/inspector/inspector_painter.h"
#include "viz/views/memory/memory_painter.h"
#include "viz/views/merge/merge_painter.h"
#include "viz/views/now/now_painter.h"
#include "viz/views/pass/pass_painter.h"
#include "viz/views/positions/position_strip_painter.h"
#include "viz/views/tensor/tensor_painter.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::drawn;
using test::has;
using test::kSmallStage;
using traces::Direction;

constexpr int kRanks = 16;

DiffScene lostGradientSync(int layers) {
  DiffScene scene;
  const DiffCell right{"0.9x", false, false, "out", test::placeAt(0, 0, Direction::kForward, 0)};
  for (const auto& tensors : {std::vector<std::string>(5, "out"), {9, "out"}}) {
    DiffTable table{"Table", "note", tensors, {}};
    table.layers.assign(static_cast<std::size_t>(layers),
                        std::vector<std::optional<DiffCell>>(tensors.size(), right));
    scene.tables.push_back(table);
  }
  for (int i = 0; i < 21; ++i)
    scene.rest.push_back({"grad.model.layers." + std::to_string(i) + ".self_attn.q_proj.weight",
                          i < 18 ? "8,400x" : "0.9x", 1e-3, 1e-7, i < 18});
  scene.map_title = "out of layer 0, isolated";
  scene.map = {2, 4, std::vector<double>(8, 0.1), {{0, 4, WorldRank::of(0)}}, ""};
  return scene;
}

std::unique_ptr<test::Drawn> diffOn(const QSizeF& size, const DiffScene& scene) {
  return drawn({size.width(), std::max(size.height(), diffHeight(size.width(), scene))},
               [&](QPainter& p, const QRectF& area) { paintDiff(p, area, scene, dark()); });
}

TEST(DiffFitTest, WrongGradientsAreShownAtEverySize) {
  for (const QSizeF size : {kSmallStage, QSizeF(1030, 640), QSizeF(1350, 780)})
    for (const int layers : {2, 32}) {
      const auto picture = diffOn(size, lostGradientSync(layers));
      const auto* verdict = picture->find("18 of 21 diverge");
      ASSERT_NE(verdict, nullptr) << size.width() << ": " << picture->words();
      EXPECT_EQ(verdict->color, dark().wrong);
      ASSERT_NE(picture->find("8,400x"), nullptr) << size.width();
      for (const auto& text : picture->texts())
        EXPECT_LE(text.at.y(), picture->area().bottom()) << text.words.toStdString();
      EXPECT_EQ(has(*picture, " more"), has(*picture, "of them diverge"));
    }
}

TEST(DiffFitTest, NamesEndWhereNumbersBegin) {
  for (const QSizeF size : {kSmallStage, QSizeF(1030, 640), QSizeF(1350, 780), QSizeF(3000, 900)}) {
    const auto picture = diffOn(size, lostGradientSync(2));
    for (const auto& name : picture->texts()) {
      if (!name.words.startsWith("grad")) continue;
      const double end =
          name.at.x() + QFontMetricsF(textFont(12)).horizontalAdvance(name.words) - 1;
      for (const auto& other : picture->texts())
        if (std::abs(other.at.y() - name.at.y()) < 4 && other.at.x() > name.at.x()) {
          EXPECT_GE(other.at.x(), end) << size.width() << ": " << name.words.toStdString()
                                       << " and " << other.words.toStdString();
        }
    }
  }
}

MergeScene ofSixteenBlocks() {
  MergeScene scene;
  scene.rank = scene.history.attending = WorldRank::of(3);
  for (int i = 0; i < kRanks; ++i)
    scene.history.steps.push_back(
        {RingStep::of(i), WorldRank::of(i), true, "", 3.0, 3.0, 0.06, 0.5});
  scene.history.largest_error_naive = 0.75;
  return scene;
}

TEST(MergeFitTest, TheLastBlockAndTheVerdictOfSixteenLieInASmallStage) {
  const MergeScene scene = ofSixteenBlocks();
  EXPECT_LE(mergeHeight(scene), kSmallStage.height() + 90) << "no more than a turn of the wheel";
  for (const QSizeF size : {QSizeF(708, mergeHeight(scene)), QSizeF(708, 640), QSizeF(1350, 780)}) {
    const auto picture =
        drawn(size, [&](QPainter& p, const QRectF& area) { paintMerge(p, area, scene, dark()); });
    for (const char* words : {"KV 15", "off by up to 0.75", "equals what was recorded"}) {
      const auto* text = picture->find(words);
      ASSERT_NE(text, nullptr) << words << " at " << size.height();
      EXPECT_LT(text->at.y(), size.height() - 2) << words;
    }
    EXPECT_GT(picture->find("recorded out")->at.y(), picture->find("KV 15")->at.y());
  }
}

RingScene ofSixteenRanks() {
  RingScene scene;
  scene.place = test::placeAt(0, 0, Direction::kForward, 0);
  scene.ring_steps = kRanks;
  scene.sentence = "rank 0 attends its 32 queries to block 0";
  for (int i = 0; i < kRanks; ++i) {
    RankScene rank;
    rank.rank = rank.held_source = WorldRank::of(i);
    rank.attending = "queries 1 x keys 2";
    scene.ranks.push_back(rank);
  }
  return scene;
}

TEST(NowFitTest, HasALineForEachOfSixteenRanks) {
  const RingScene scene = ofSixteenRanks();
  const double height = std::max(kSmallStage.height(), nowHeight(kSmallStage.width(), scene));
  const auto picture = drawn({kSmallStage.width(), height}, [&](QPainter& p, const QRectF& area) {
    paintNow(p, area, scene, 0, dark());
  });
  ASSERT_NE(picture->exactly("rank 15"), nullptr) << picture->words();
  EXPECT_LT(picture->exactly("rank 15")->at.y(), picture->find("Space:")->at.y());
}

CoverageScene coverageOf(int ranks) {
  CoverageScene scene;
  scene.chunks = 2 * ranks;
  const auto chunks = static_cast<std::size_t>(scene.chunks);
  scene.cells.resize(chunks * chunks);
  scene.painters.resize(scene.cells.size());
  for (int i = 0; i < ranks; ++i) {
    scene.ranks.push_back(WorldRank::of(i));
    scene.work_done.push_back(1000);
    scene.work_total.push_back(2000);
    scene.wait_ns.push_back(std::int64_t{1000} * i);
  }
  return scene;
}

TEST(CoverageFitTest, EveryRankIsListedWholeAndBarsAreSeen) {
  const CoverageScene scene = coverageOf(kRanks);
  const double height = std::max(kSmallStage.height(), coverageHeight(708, scene));
  const auto picture = drawn({708, height}, [&](QPainter& p, const QRectF& area) {
    paintCoverage(p, area, scene, 0, dark());
  });
  double last = 0;
  for (int i = 0; i < kRanks; ++i) {
    const auto* name = picture->exactly("rank " + QString::number(i));
    ASSERT_NE(name, nullptr) << i << " in " << picture->words();
    EXPECT_GE(name->at.y() - last, 12) << "no line is cut";
    last = name->at.y();
  }
  EXPECT_LT(last, picture->find("Balance")->at.y());
  const double list = picture->exactly("rank 0")->at.x();
  double widest = 0;
  for (const auto& shape : picture->shapes())
    if (shape.box.left() > list) widest = std::max(widest, shape.box.width());
  EXPECT_GT(widest, 60);
}

TEST(CoverageFitTest, TheCaptionSpeaksOfNumbersOnlyWhereSomeAreDrawn) {
  for (const int ranks : {4, kRanks}) {
    CoverageScene scene = coverageOf(ranks);
    scene.cells[1] = {36, 36, RingStep::of(777), false, false};
    scene.painters[1] = WorldRank::of(0);
    const auto picture = drawn({708, 410}, [&](QPainter& p, const QRectF& area) {
      paintCoverage(p, area, scene, 0, dark());
    });
    EXPECT_EQ(has(*picture, "the number is the ring step"), has(*picture, "777")) << ranks;
  }
}

TEST(TimelineFitTest, SixteenLanesHaveNamesAndBarsThatCanBeSeen) {
  PassScene scene;
  scene.end_ns = 1000;
  for (int i = 0; i < kRanks; ++i) {
    scene.lanes.push_back({WorldRank::of(i), {}});
    scene.bars.push_back({GroupRank::of(i), traces::EventKind::kAttend, WorldRank::of(i), 0, 1000});
  }
  const auto picture = drawn({708, passHeight(scene)}, [&](QPainter& p, const QRectF& area) {
    paintPass(p, area, scene, dark());
  });
  for (int i = 0; i < kRanks; ++i)
    EXPECT_NE(picture->exactly("rank " + QString::number(i)), nullptr) << i;
  for (const auto& shape : picture->shapes())
    EXPECT_TRUE(shape.box.width() < 500 || shape.box.height() >= 8) << "a bar";
  const auto lower = drawn(
      {708, 112}, [&](QPainter& p, const QRectF& area) { paintPass(p, area, scene, dark()); });
  EXPECT_NE(lower->exactly("rank 8"), nullptr) << "some names where there is no room for all";
  EXPECT_EQ(lower->exactly("rank 9"), nullptr);
}

TEST(PositionStripFitTest, SixteenRanksStandInColumnsAndEachSaysItsIds) {
  PositionStrip strip;
  for (int i = 0; i < kRanks; ++i) {
    const std::int64_t first = std::int64_t{16} * i;
    strip.rows.push_back({WorldRank::of(i), {{16, first, first + 15, first, false}}});
  }
  strip.all = 256;
  const auto picture = drawn({708, 126}, [&](QPainter& p, const QRectF& area) {
    paintPositionStrip(p, area, strip, dark());
  });
  for (int i = 0; i < kRanks; ++i) {
    EXPECT_NE(picture->exactly("rank " + QString::number(i)), nullptr) << i;
    EXPECT_NE(picture->exactly(QString::number(16 * i + 15)), nullptr) << i;
    const StripRow row = positionStripRow(picture->area(), kRanks, static_cast<std::size_t>(i));
    EXPECT_TRUE(picture->area().contains(row.bar)) << i;
    EXPECT_GE(row.bar.height(), 8) << "no hairline";
    for (int other = 0; other < i; ++other)
      EXPECT_FALSE(positionStripRow(picture->area(), kRanks, static_cast<std::size_t>(other))
                       .bar.intersects(row.bar.united(row.name)))
          << other << " and " << i;
  }
}

TEST(MemoryFitTest, TicksAreRoundNumbers) {
  MemoryScene scene;
  scene.end_ns = 3'636'000'000;
  scene.peak.bytes = 123'456;
  scene.series.columns.resize(10);
  scene.law = {2, 100'000, 23'456};
  const auto picture = drawn(
      {900, 560}, [&](QPainter& p, const QRectF& area) { paintMemory(p, area, scene, dark()); });
  EXPECT_NE(picture->exactly("1000"), nullptr) << picture->words();
  EXPECT_EQ(picture->exactly("606"), nullptr);
  QStringList seen;
  for (const auto& text : picture->texts())
    if (text.at.x() < 80 && text.words.trimmed().startsWith("0.")) seen << text.words.trimmed();
  EXPECT_GT(seen.size(), 2) << picture->words();
  EXPECT_EQ(seen.removeDuplicates(), 0) << "labels differ: " << seen.join(" ").toStdString();
}

bool isFilled(const test::Drawn& picture, const QColor& color, double least_y) {
  return std::ranges::any_of(picture.shapes(), [&](const test::DrawnShape& shape) {
    return shape.fill == color && shape.box.top() >= least_y;
  });
}

TEST(ScaleTest, TheErrorMapSaysWhatItsColoursMean) {
  ErrorMap map{1, 2, {0.1, 1000}, {}, ""};
  const auto picture = drawn({600, 120}, [&](QPainter& p, const QRectF& area) {
    paintErrorHistogram(p, area, map, ErrorUnit::kLimit, dark());
  });
  EXPECT_TRUE(has(*picture, "colour")) << picture->words();
  EXPECT_TRUE(isFilled(*picture, dark().wrong, 80)) << "beyond the limit";
  EXPECT_GT(picture->shapes().size(), 40u);
}

TEST(ScaleTest, TheHeatMapSaysWhatItsColoursMean) {
  TensorScene scene;
  scene.name = "q";
  scene.slice = {2, 2, {0, 1, 2, 4}};
  scene.histogram = valueHistogram(scene.slice.values, 10);
  scene.range = {0, 4};
  TensorLook look;
  look.range = scene.range;
  look.cell = 8;
  const auto picture = drawn({700, 500}, [&](QPainter& p, const QRectF& area) {
    paintTensor(p, area, scene, look, dark());
  });
  const QRectF range = tensorAreas(tensorCanvas(picture->area())).range;
  int colors = 0;
  for (const auto& shape : picture->shapes())
    colors += shape.box.height() == 5 && range.contains(shape.box.center());
  EXPECT_GT(colors, 50) << "the strip under the histogram";
}

TEST(InspectorFitTest, TheWorstVerdictIsNeverCut) {
  InspectorScene scene;
  scene.memory = std::make_shared<const MemorySeries>();
  scene.worst = {{"isolated, worst of the run (step 12, layer 1, dk)", "8,400x limit", true}};
  const auto picture = drawn({320, 900}, [&](QPainter& p, const QRectF& area) {
    paintInspector(p, area, scene, 0, dark());
  });
  EXPECT_TRUE(has(*picture, "isolated, worst of the run (step 12, layer 1, dk)"))
      << picture->words();
  EXPECT_TRUE(has(*picture, "8,400x limit"));
}

}  // namespace
}  // namespace ringscope::viz
