// SPDX-License-Identifier: GPL-3.0-or-later
// How lanes are drawn: where bars lie, what they say, and that their number is that of the pixels.
#include "viz/views/timeline/chart_painter.h"

#include <gtest/gtest.h>

#include "tests/support/place_at.h"
#include "tests/support/trace_builder.h"
#include "tests/viz/drawn.h"
#include "traces/format/trace/trace.h"
#include "viz/views/timeline/account_painter.h"
#include "viz/views/timeline/overview_painter.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::has;
using test::kOne;
using test::kZero;

ChartScene sceneOf(std::shared_ptr<const Tracks> tracks, std::vector<WorldRank> ranks) {
  ChartScene scene;
  scene.tracks = std::move(tracks);
  scene.ranks = std::move(ranks);
  scene.lanes = usedLanes(*scene.tracks, scene.ranks);
  scene.window = scene.tracks->all();
  scene.selected_rank = scene.ranks.front();
  return scene;
}

std::shared_ptr<const Tracks> twoTracks() {
  return makeTracks(*test::makeTrace(
      "attend rank=0 layer=0 stage=0 source=0 time=0-400000\n"
      "send rank=0 peer=1 payload=kv layer=0 stage=0 source=0 bytes=65536 time=0-300000\n"
      "wait rank=0 payload=kv layer=0 stage=0 time=400000-500000\n"
      "attend rank=0 layer=0 stage=1 source=1 time=500000-1000000\n"
      "send rank=0 peer=1 direction=backward payload=dkv layer=0 stage=0 source=1 bytes=131072 "
      "time=500000-900000\n"
      "attend rank=1 layer=0 stage=0 source=1 time=0-900000\n"));
}

/// Returns `count` short attends on each of some ranks.
std::shared_ptr<const Tracks> dense(int ranks, int count) {
  TracksBuilder builder;
  for (int rank = 0; rank < ranks; ++rank)
    for (int i = 0; i < count; ++i) {
      traces::Event event;
      event.rank = WorldRank::of(rank);
      event.source_rank = WorldRank::of(i % ranks);
      event.begin_ns = event.start_ns = i * 1000;
      event.end_ns = event.begin_ns + 800;
      builder.take(event);
    }
  return builder.finish();
}

TEST(ChartPainterTest, BarsLieWhereTheirTimesAreAndSayWhatTheyAre) {
  const ChartScene scene = sceneOf(twoTracks(), {kZero, kOne});
  ChartCanvas canvas;
  const QRectF area(0, 0, 1116, 400);
  const ChartLayout layout = chartLayout(area, scene, 0);
  EXPECT_EQ(layout.lanes.width(), 1000) << "names left, a margin right";
  const auto picture = test::drawn({1116, 400}, [&](QPainter& p, const QRectF&) {
    paintChart(p, layout, scene, canvas, dark());
  });
  EXPECT_TRUE(has(*picture, "rank 0"));
  EXPECT_TRUE(has(*picture, "rank 1"));
  EXPECT_TRUE(has(*picture, "KV out"));
  EXPECT_TRUE(has(*picture, "dKV out"));
  ASSERT_NE(layout.row(GroupRank::of(1), LaneKind::kCompute), nullptr);
  for (std::size_t i = 1; i < layout.rows.size(); ++i)
    EXPECT_GE(layout.rows[i].box.top(), layout.rows[i - 1].box.bottom()) << "none overlap";
  EXPECT_TRUE(canvas.words.contains("plate KV 1 28")) << "the block is named on its plate";
  EXPECT_GE(canvas.primitives, 6);
}

TEST(ChartPainterTest, APointLeadsToWhatLiesUnderIt) {
  const ChartScene scene = sceneOf(twoTracks(), {kZero, kOne});
  const ChartLayout layout = chartLayout({0, 0, 1116, 400}, scene, 0);
  const WindowScale scale = layout.scale(scene.window);
  const QRectF compute = layout.row(GroupRank::of(0), LaneKind::kCompute)->box;
  const SpanPlace wait = chartHit({scale.x(450'000), compute.center().y()}, layout, scene);
  EXPECT_EQ(wait.rank, kZero);
  EXPECT_EQ(wait.span.shade, Shade::kWait);
  const QRectF sends = layout.row(GroupRank::of(0), LaneKind::kDkv)->box;
  EXPECT_EQ(chartHit({scale.x(600'000), sends.center().y()}, layout, scene).span.begin_ns, 500'000);
  EXPECT_FALSE(chartHit({scale.x(450'000), sends.center().y()}, layout, scene).exists());
  EXPECT_FALSE(chartHit({5, compute.center().y()}, layout, scene).exists());
  EXPECT_FALSE(chartHit({500, 100}, layout, ChartScene()).exists());
}

TEST(ChartPainterTest, ShapesAreFewHoweverManyEventsThereAreAtEveryZoom) {
  for (const int count : {2'000, 200'000}) {
    ChartScene scene = sceneOf(dense(4, count), {kZero, kOne, WorldRank::of(2), WorldRank::of(3)});
    ChartCanvas canvas;
    const QRectF area(0, 0, 1116, 400);
    for (double length = scene.window.length(); length > 100; length /= 2) {
      scene.window = {0, length};
      const ChartLayout layout = chartLayout(area, scene, 0);
      const auto picture = test::drawn({1116, 400}, [&](QPainter& p, const QRectF&) {
        paintChart(p, layout, scene, canvas, dark());
      });
      const bool narrow = 800 / length * layout.lanes.width() < 10;
      EXPECT_TRUE(!narrow || !picture->images().empty()) << "narrow ones are in pictures of lanes";
      EXPECT_LE(canvas.primitives, 4 * 2 * 1000 / 10 + 8) << count << " " << length;
    }
  }
}

TEST(ChartPainterTest, DenseColumnsAreInTheImageWithTheirShares) {
  ChartScene scene = sceneOf(dense(1, 100'000), {kZero});
  QImage image(1116, 200, QImage::Format_RGB32);
  QPainter painter(&image);
  ChartCanvas canvas;
  const ChartLayout layout = chartLayout(QRectF(image.rect()), scene, 0);
  paintChart(painter, layout, scene, canvas, dark());
  painter.end();
  const QRectF row = layout.row(GroupRank::of(0), LaneKind::kCompute)->box;
  const QColor at =
      image.pixelColor(static_cast<int>(row.center().x()) + 3, static_cast<int>(row.center().y()));
  const QColor full = rankColor(kZero), none = dark().background;
  EXPECT_NEAR(at.redF(), 0.8 * full.redF() + 0.2 * none.redF(), 0.06) << "busy for four fifths";
  EXPECT_EQ(canvas.primitives, 0);
}

/// Whatever was drawn before: views draw over their last picture.
TEST(ChartPainterTest, EveryPixelOfTheChartIsDrawn) {
  std::vector<WorldRank> ranks;
  for (int rank = 0; rank < 24; ++rank) ranks.push_back(WorldRank::of(rank));
  for (const std::size_t count : {1, 2, 5, 24})
    for (const double density : {1.0, 1.25, 2.0})
      for (const double scroll : {0.0, 13.0}) {
        ChartScene scene = sceneOf(count == 2 ? twoTracks() : dense(24, 3000),
                                   {ranks.begin(), ranks.begin() + static_cast<long>(count)});
        scene.captions.assign(count, "words");
        const QRectF area(3, 5, 611, 277);
        QImage image(QSize(617, 287) * density, QImage::Format_RGB32);
        image.fill(Qt::magenta);
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.scale(density, density);
        ChartCanvas canvas;
        const double to = std::min(scroll, mostScroll(area, scene));
        paintChart(painter, chartLayout(area, scene, to), scene, canvas, dark());
        painter.end();
        int left = 0;
        const QRect inner = QRectF(area.topLeft() * density, area.size() * density)
                                .toAlignedRect()
                                .adjusted(1, 1, -1, -1);
        for (int y = inner.top(); y <= inner.bottom(); ++y)
          for (int x = inner.left(); x <= inner.right(); ++x)
            left += image.pixelColor(x, y) == QColor(Qt::magenta) ? 1 : 0;
        EXPECT_EQ(left, 0) << count << " ranks, density " << density << ", scrolled by " << to;
      }
}

TEST(ChartPainterTest, ManyRanksStayApartAndTheRestIsScrolledTo) {
  std::vector<WorldRank> ranks;
  for (int rank = 0; rank < 64; ++rank) ranks.push_back(WorldRank::of(rank));
  const ChartScene scene = sceneOf(dense(64, 10), ranks);
  const QRectF area(0, 0, 900, 500);
  const double most = mostScroll(area, scene);
  EXPECT_GT(most, 0);
  const ChartLayout top = chartLayout(area, scene, 0), bottom = chartLayout(area, scene, most);
  EXPECT_GE(top.ranks.front().top(), top.lanes.top());
  EXPECT_LE(bottom.ranks.back().bottom(), bottom.lanes.bottom() + 1);
  EXPECT_EQ(mostScroll({0, 0, 900, 3000}, scene), 0);
  ChartCanvas canvas;
  const auto picture = test::drawn(area.size(), [&](QPainter& p, const QRectF&) {
    paintChart(p, bottom, scene, canvas, dark());
  });
  EXPECT_TRUE(has(*picture, "rank 63"));
  EXPECT_FALSE(has(*picture, "rank 2 "));
}

TEST(OverviewPainterTest, HasABlockAStepAndColumnsWhereThereAreTooMany) {
  const auto steps = [](int count) {
    TracksBuilder builder;
    for (int step = 0; step < count; ++step) {
      traces::Event event;
      event.rank = kZero;
      event.place.train_step = step;
      event.begin_ns = event.start_ns = step * 1000;
      event.end_ns = event.begin_ns + 900;
      builder.take(event);
    }
    return sceneOf(builder.finish(), {kZero});
  };
  const auto draw = [&](const ChartScene& scene) {
    return test::drawn({1116, kOverviewHeight}, [&](QPainter& p, const QRectF& area) {
      paintOverview(p, area, scene, dark());
    });
  };
  EXPECT_TRUE(has(*draw(steps(3)), "step 2"));
  const auto many = draw(steps(50'000));
  EXPECT_FALSE(has(*many, "step"));
  EXPECT_LE(many->shapes().size(), 4100u);
}

TEST(AccountPainterTest, SaysWhereTheTimeGoesInNumbers) {
  StepAccount account;
  account.timed = true;
  account.train_step = 3;
  RankAccount rank;
  rank.rank = kZero;
  rank.step_ns = 1'000'000;
  rank.used_ns = {620'000, 260'000, 100'000, 20'000, 0, 0};
  rank.exposure = {100'000, 300'000, 1 << 20};
  rank.cpu_ns = 440'000;
  rank.wall_ns = 880'000;
  account.ranks = {rank};
  account.layers = {{Layer::of(0), traces::Direction::kForward, rank.exposure}};
  account.caveat = "the scheduler's";
  const SpanDetails selected{"attends KV 2", {{"wall time", "3 ms"}}};
  const auto picture = test::drawn({320, 1000}, [&](QPainter& p, const QRectF& area) {
    EXPECT_LT(paintAccount(p, area, account, &selected, dark()), 1000);
  });
  for (const char* words : {"STEP 3", "rank 0", "62 %", "26 %", "10 %", "100 µs", "300", "1 MiB",
                            "440", "of 880", "scheduler's", "attends KV 2", "3 ms"})
    EXPECT_TRUE(has(*picture, words)) << words << " in " << picture->words();
}

}  // namespace
}  // namespace ringscope::viz
