// SPDX-License-Identifier: GPL-3.0-or-later
// The drawing of curves, and the effect of a click on them.
#include <gtest/gtest.h>

#include <QPicture>
#include <QSignalSpy>
#include <QTest>
#include <cmath>

#include "tests/viz/drawn.h"
#include "tests/viz/recorded_ring.h"
#include "viz/views/base/view.h"
#include "viz/views/curves/curves_painter.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::drawn;
using test::has;
using test::kSmallStage;

/// Returns curves of `steps` steps; the third is wrong and has no loss.
CurvesScene curvesOf(int steps) {
  CurvesScene scene;
  Curve loss{"loss", Curve::Says::kNumber, {}, {}}, worst{"worst", Curve::Says::kMultiple, {}, {}};
  for (int step = 0; step < steps; ++step) {
    scene.steps.push_back(step);
    loss.values.emplace_back(step == 2 ? NAN : 6 - 0.1 * step);
    worst.values.emplace_back(step == 2 ? 4e6 : 0.4);
  }
  scene.curves = {loss, worst};
  return scene;
}

/// Returns the middle of a step in the plot of the first curve.
QPointF pointOf(std::int32_t step, const QRectF& area, const CurvesScene& scene) {
  for (double x = area.left(); x < area.right(); ++x) {
    const QPointF point(x, area.top() + 120);
    if (curvesHit(point, area, scene) == step) return point;
  }
  return {};
}

TEST(CurvesPainterTest, SaysTheNumbersOfTheViewedStepAndMarksWhatIsWrong) {
  const CurvesScene scene = curvesOf(4);
  const auto page = drawn(kSmallStage, [&](QPainter& p, const QRectF& area) {
    paintCurves(p, area, scene, 2, dark());
  });
  EXPECT_TRUE(has(*page, "4 training steps"));
  EXPECT_TRUE(has(*page, "step 2: loss NaN · worst 4.0 M×"));
  EXPECT_TRUE(has(*page, "▲ 4.0 M×"));
  EXPECT_TRUE(has(*page, "▲ NaN"));
}

TEST(CurvesPainterTest, FitsASmallStage) {
  CurvesScene scene = curvesOf(4);
  scene.curves.resize(5, scene.curves.front());
  EXPECT_LE(curvesHeight(kSmallStage.width(), scene), kSmallStage.height());
}

TEST(CurvesPainterTest, EveryStepCanBeHit) {
  const CurvesScene scene = curvesOf(20);
  const QRectF area(QPointF(0, 0), kSmallStage);
  for (const std::int32_t step : scene.steps)
    EXPECT_FALSE(pointOf(step, area, scene).isNull()) << step;
  EXPECT_FALSE(curvesHit({10, 10}, area, scene)) << "above the plots";
}

TEST(CurvesPainterTest, AHundredThousandStepsTakeAsManyLinesAsPixels) {
  const auto size_of = [](int steps) {
    QPicture picture;
    QPainter painter(&picture);
    paintCurves(painter, QRectF(QPointF(0, 0), kSmallStage), curvesOf(steps), 1, dark());
    painter.end();
    return picture.size();
  };
  EXPECT_LT(size_of(100'000), 3 * size_of(1'000));
}

class CurvesViewTest : public testing::Test {
 protected:
  CurvesViewTest() {
    auto trace = test::recordedTrace(test::RingRun());  // steps 0 and 1
    for (int step = 0; step < 4; ++step)
      trace->add(traces::Note{"step." + std::to_string(step),
                              R"({"loss": )" + std::to_string(6 - step) + "}"});
    viewing.session.open(trace, "recording", false);
    const auto entry = std::ranges::find(viewRegistry(), QString("curves"), &ViewEntry::name);
    view.reset(entry->make(viewing, nullptr));
    view->setTheme(dark());
    view->resize(kSmallStage.toSize());
    view->show();
    scene = makeCurvesScene(viewing.session.trace());
  }
  void click(std::int32_t step) {
    QTest::mouseClick(view.get(), Qt::LeftButton, {},
                      pointOf(step, QRectF(view->rect()), scene).toPoint());
  }
  Viewing viewing;
  std::unique_ptr<View> view;
  CurvesScene scene;
};

TEST_F(CurvesViewTest, AClickGoesToTheStep) {
  click(1);
  EXPECT_EQ(viewing.navigator.cursor().place.train_step, 1);
  click(0);
  EXPECT_EQ(viewing.navigator.cursor().place.train_step, 0);
  EXPECT_TRUE(view->accessibleDescription().startsWith("step 0: loss 6"));
}

TEST_F(CurvesViewTest, DoesNotMoveToAStepWithoutRecordedEvents) {
  QSignalSpy told(&viewing.navigator, &Navigator::told);
  click(3);
  ASSERT_EQ(told.size(), 1);
  EXPECT_EQ(told.first().first().toString(),
            "step 3 has logged its numbers alone: no events of it are recorded");
}

}  // namespace
}  // namespace ringscope::viz
