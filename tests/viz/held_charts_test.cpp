// SPDX-License-Identifier: GPL-3.0-or-later
// Charts of a run that was held: a pause takes no room in them.
#include <gtest/gtest.h>

#include "tests/support/place_at.h"
#include "tests/support/trace_builder.h"
#include "tests/viz/drawn.h"
#include "viz/views/memory/memory_painter.h"
#include "viz/views/pass/pass_painter.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::drawn;

/// The rank was held for 6 of 10 ms, starting at 2 ms, so 4 ms are drawn.
TEST(MemoryPainterTest, ThePlotLeavesOutPausesAndSaysSo) {
  MemoryScene scene;
  scene.end_ns = 10'000'000;
  scene.peak.bytes = 1 << 19;
  scene.series.columns.resize(100);
  scene.law = {2, 1 << 19, 0};
  scene.series.pauses = TimeFolds({{2'000'000, 8'000'000}});
  const QRectF area(0, 0, 900, 560);
  const QRectF plot = memoryAreas(area).over_time;
  const auto at = [&](double share) {
    const auto hit =
        memoryHit({plot.left() + plot.width() * share, plot.center().y()}, area, scene);
    return static_cast<double>(hit.value_or(-1)) * 1e-6;
  };
  EXPECT_NEAR(at(0.25), 1, 0.01);
  EXPECT_NEAR(at(0.75), 9, 0.01);
  const auto words = [&] {
    return drawn({900, 560},
                 [&](QPainter& p, const QRectF& page) { paintMemory(p, page, scene, dark()); })
        ->words();
  };
  EXPECT_NE(words().find("ms since the run began, without pauses"), std::string::npos) << words();
  scene.series.pauses = {};
  EXPECT_EQ(words().find("without pauses"), std::string::npos);
}

/// Two ranks attend for 20 ns, are held for 60 ns and attend for another 20 ns.
TEST(TimelinePainterTest, APassIsDrawnWithoutThePauseInIt) {
  std::string text = "group cp 0,1\n";
  for (const std::string rank : {"0", "1"})
    text += "attend rank=" + rank + " source=" + rank + " layer=0 stage=0 time=0-20\n" +
            "pause rank=" + rank + " layer=0 stage=1 time=20-80\n" + "attend rank=" + rank +
            " source=0 layer=0 stage=1 time=80-100\n";
  const auto trace = test::makeTrace(text);
  Cursor cursor;
  cursor.place = test::placeAt(0, 0, traces::Direction::kForward, 0);
  const PassScene scene = makePassScene(*trace, cursor);
  const QRectF area(0, 0, 1000, 200);
  const TimeScale scale = passScale(area, scene);
  const auto x = [&](double share) { return scale.left + scale.width * share; };
  EXPECT_NEAR(instantBox(area, scene, 90).center().x(), x(0.75), 1e-6);
  const PassHit hit = passHit({x(0.75), 150}, area, scene);
  EXPECT_EQ(hit.place.stage, RingStep::of(1));
  EXPECT_NEAR(hit.phase, 0.5, 0.06);
  const auto picture = drawn(
      {1000, 200}, [&](QPainter& p, const QRectF& page) { paintPass(p, page, scene, dark()); });
  const auto* block = picture->find("KV 1");
  ASSERT_NE(block, nullptr) << picture->words();
  EXPECT_GT(block->at.x(), x(0));
  EXPECT_LT(block->at.x(), x(0.5)) << "before the pause";
}

}  // namespace
}  // namespace ringscope::viz
