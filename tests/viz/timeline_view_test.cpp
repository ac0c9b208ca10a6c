// SPDX-License-Identifier: GPL-3.0-or-later
// Every gesture of the Timeline view, by real mouse and key events on the real window.
#include "viz/views/timeline/timeline_view.h"

#include <QLineEdit>
#include <QWheelEvent>

#include "tests/viz/window_fixture.h"
#include "viz/kit/page.h"
#include "viz/views/timeline/overview_painter.h"
#include "viz/views/timeline/timeline_page.h"

namespace ringscope::viz {
namespace {

class TimelineViewTest : public WindowTest {
 protected:
  void SetUp() override {
    open();
    window.showView("timeline");
    for (auto* each : window.findChildren<TimelineView*>())
      if (each->isVisible()) view = each;
    ASSERT_NE(view, nullptr);
    window.navigator().setMoment(1, 0.5);
    QApplication::processEvents();
  }
  TimeWindow shown() const { return view->scene().window; }
  QPoint at(double ns, WorldRank rank, LaneKind lane = LaneKind::kCompute) const {
    const ChartLayout layout = view->chart();
    const auto* row = layout.row(view->scene().rankSeat(rank), lane);
    return QPointF(layout.scale(shown()).x(ns), row->box.center().y()).toPoint();
  }
  void moveTo(const QPoint& point, Qt::MouseButtons buttons = {}, Qt::KeyboardModifiers with = {}) {
    QMouseEvent event(QEvent::MouseMove, QPointF(point), view->mapToGlobal(QPointF(point)),
                      Qt::NoButton, buttons, with);
    QApplication::sendEvent(view, &event);
  }
  void wheel(const QPoint& point, int steps, Qt::KeyboardModifiers with = {}) {
    QWheelEvent event(QPointF(point), view->mapToGlobal(QPointF(point)), {}, {0, 120 * steps}, {},
                      with, Qt::NoScrollPhase, false);
    QApplication::sendEvent(view, &event);
  }
  void drag(const QPoint& from, const QPoint& to, Qt::KeyboardModifiers with = {}) {
    QTest::mousePress(view, Qt::LeftButton, with, from);
    moveTo((from + to) / 2, Qt::LeftButton, with);
    moveTo(to, Qt::LeftButton, with);
    QTest::mouseRelease(view, Qt::LeftButton, with, to);
  }
  double middle() const { return (shown().begin_ns + shown().end_ns) / 2; }
  /// Returns a block that rank 1 attends.
  Span attended(std::size_t which = 0) const {
    const SpanTree& lane =
        view->scene().tracks->of(traces::WorldRank::of(1))->lane(LaneKind::kCompute);
    for (std::size_t i = 0, seen = 0; i < lane.size(); ++i)
      if (lane[i].shade == Shade::kAttend && lane[i].length() > 0 && seen++ == which)
        return lane[i];
    return {};
  }

  TimelineView* view = nullptr;
};

TEST_F(TimelineViewTest, BeginsWithTheViewedTrainingStep) {
  const StepTrack* step = view->scene().tracks->step(0);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(shown(), step->window().withMargin());
  EXPECT_GT(distinctColors(view->grab().toImage()), 12);
  EXPECT_GT(view->primitives(), 10);
}

TEST_F(TimelineViewTest, TheSentenceHasRoomForAllItsLines) {
  const auto no_legend = [](double) { return 0.0; };
  QString words = "this step takes 38.9 ms;";
  for (int clauses = 1; clauses <= 8; ++clauses, words += " a rank stands still for 7.1 ms of it;")
    for (const double width : {1030, 1500, 3000}) {
      const QRectF at = timelinePage({0, 0, width, 600}, no_legend, words, 0, 0).sentence;
      const QRectF text = sentenceText(at);
      EXPECT_GE(text.height(), wrappedHeight(words, sentenceFont(), text.width())) << width;
      EXPECT_LE(at.bottom(), 600) << width;
    }
}

TEST_F(TimelineViewTest, TheWheelZoomsAboutThePointer) {
  const QPoint point = at(middle(), traces::WorldRank::of(0)) + QPoint(60, 0);
  const double under = view->chart().scale(shown()).ns(point.x());
  const double before = shown().length();
  wheel(point, 3);
  EXPECT_NEAR(shown().length(), before / std::pow(1.25, 3), before * 1e-6);
  EXPECT_NEAR(view->chart().scale(shown()).x(under), point.x(), 0.5);
  wheel(point, -3);
  EXPECT_NEAR(shown().length(), before, before * 1e-6);
  wheel(point, 2, Qt::ShiftModifier);
  EXPECT_NEAR(shown().length(), before, before * 1e-6) << "with Shift it moves aside";
}

TEST_F(TimelineViewTest, ARepaintEqualsDrawingEverything) {
  for (const int zoom : {0, 7, 6}) {
    wheel(at(middle(), traces::WorldRank::of(0)), zoom);
    const QImage whole = view->grab().toImage();
    for (const QRectF& part :
         {view->parts().chart, view->parts().overview, QRectF(9, 9, 70, 300)}) {
      QImage picture = whole;
      const QRect dirty = part.toAlignedRect();
      picture.fill(Qt::magenta);
      view->render(&picture, dirty.topLeft(), QRegion(dirty));
      EXPECT_EQ(picture.copy(dirty), whole.copy(dirty)) << zoom << " " << part.top();
    }
  }
}

TEST_F(TimelineViewTest, LettersZoomAndMove) {
  const TimeWindow before = shown();
  QTest::keyClick(view, Qt::Key_W);
  EXPECT_LT(shown().length(), before.length());
  const TimeWindow closer = shown();
  QTest::keyClick(view, Qt::Key_D);
  EXPECT_GT(shown().begin_ns, closer.begin_ns);
  QTest::keyClick(view, Qt::Key_A);
  EXPECT_NEAR(shown().begin_ns, closer.begin_ns, 1);
  QTest::keyClick(view, Qt::Key_S);
  EXPECT_NEAR(shown().length(), before.length(), 1);
}

TEST_F(TimelineViewTest, FFitsTheStepAndThenTheWholeRun) {
  wheel(at(middle(), traces::WorldRank::of(0)), 8);
  QTest::keyClick(view, Qt::Key_F);
  const StepTrack* step = view->scene().tracks->step(0);
  EXPECT_EQ(shown(), step->window().withMargin());
  QTest::keyClick(view, Qt::Key_F);
  EXPECT_EQ(shown(), view->scene().tracks->all().withMargin());
}

TEST_F(TimelineViewTest, DraggingMovesWhatIsUnderThePointer) {
  wheel(at(middle(), traces::WorldRank::of(0)), 6);
  const QPoint from = at(middle(), traces::WorldRank::of(0));
  const double under = view->chart().scale(shown()).ns(from.x());
  const Cursor cursor = window.navigator().cursor();
  drag(from, from + QPoint(-80, 0));
  EXPECT_NEAR(view->chart().scale(shown()).x(under), from.x() - 80, 1.5);
  EXPECT_EQ(window.navigator().cursor(), cursor) << "a drag is no click";
}

TEST_F(TimelineViewTest, AClickMovesTheMomentOfAllViews) {
  const Span block = attended(2);
  QTest::mouseClick(
      view, Qt::LeftButton, {},
      at(static_cast<double>(block.begin_ns + block.end_ns) / 2, traces::WorldRank::of(1)));
  EXPECT_EQ(window.navigator().cursor().rank, traces::WorldRank::of(1));
  EXPECT_EQ(view->scene().selected.span.begin_ns, block.begin_ns);
  const std::int64_t instant = view->scene().tracks->folds.folded(window.navigator().instant());
  EXPECT_GE(instant, block.begin_ns);
  EXPECT_LE(instant, block.end_ns + 1);
}

TEST_F(TimelineViewTest, ADoubleClickShowsABarAlone) {
  const Span block = attended(1);
  const QPoint point =
      at(static_cast<double>(block.begin_ns + block.end_ns) / 2, traces::WorldRank::of(1));
  QTest::mouseClick(view, Qt::LeftButton, {}, point);
  QTest::mouseDClick(view, Qt::LeftButton, {}, point);
  EXPECT_NEAR(shown().length(), 1.5 * static_cast<double>(block.length()), 1);
}

TEST_F(TimelineViewTest, HoverOutlinesAndATooltipSaysWhatIsKnown) {
  const Span block = attended();
  moveTo(at(static_cast<double>(block.begin_ns + block.end_ns) / 2, traces::WorldRank::of(1)));
  EXPECT_EQ(view->scene().hovered.span.begin_ns, block.begin_ns);
  moveTo(QPoint(3, 3));
  EXPECT_FALSE(view->scene().hovered.exists());
}

TEST_F(TimelineViewTest, MMarksAndTheSameAgainTakesItAway) {
  const QPoint point = at(middle(), traces::WorldRank::of(0));
  moveTo(point);
  QTest::keyClick(view, Qt::Key_M);
  ASSERT_EQ(view->scene().marks.size(), 1u);
  EXPECT_NEAR(view->chart().scale(shown()).x(view->scene().marks[0]), point.x(), 0.5);
  EXPECT_FALSE(window.player().reducedMotion()) << "the key means nothing else here";
  QTest::keyClick(view, Qt::Key_M);
  EXPECT_TRUE(view->scene().marks.empty());
}

TEST_F(TimelineViewTest, RMeasuresFromKeyToKeyAndShiftByDragging) {
  const TimeWindow window_before = shown();
  const QPoint left =
      at(window_before.begin_ns + 0.2 * window_before.length(), traces::WorldRank::of(0));
  const QPoint right =
      at(window_before.begin_ns + 0.8 * window_before.length(), traces::WorldRank::of(0));
  moveTo(left);
  QTest::keyClick(view, Qt::Key_R);
  moveTo(right);
  QTest::keyClick(view, Qt::Key_R);
  ASSERT_TRUE(view->scene().range);
  EXPECT_NEAR(view->scene().range->length(), 0.6 * window_before.length(),
              window_before.length() / 200);
  EXPECT_NE(view->scene().range_words.find(" hop"), std::string::npos) << view->scene().range_words;
  QTest::keyClick(view, Qt::Key_Escape);
  EXPECT_FALSE(view->scene().range);
  drag(left, right, Qt::ShiftModifier);
  ASSERT_TRUE(view->scene().range);
  EXPECT_NEAR(view->scene().range->length(), 0.6 * window_before.length(),
              window_before.length() / 200);
  EXPECT_EQ(shown(), window_before);
}

TEST_F(TimelineViewTest, AClickOnTheOverviewGoesToAStep) {
  const StepTrack* last = &view->scene().tracks->steps.back();
  const WindowScale scale = overviewScale(view->parts().overview, view->scene());
  const double x =
      scale.x((static_cast<double>(last->begin_ns) + static_cast<double>(last->end_ns)) / 2);
  QTest::mouseClick(view, Qt::LeftButton, {},
                    QPointF(x, view->parts().overview.center().y()).toPoint());
  EXPECT_EQ(window.navigator().cursor().place.train_step, last->train_step);
  EXPECT_EQ(view->account().train_step, last->train_step);
}

TEST_F(TimelineViewTest, ASearchGoesFromOneToTheNext) {
  QTest::keyClick(view, Qt::Key_Slash);
  auto* field = view->findChild<QLineEdit*>();
  ASSERT_TRUE(field->hasFocus());
  field->clear();
  QTest::keyClicks(field, "attend rank 1");
  QTest::keyClick(field, Qt::Key_Return);
  ASSERT_TRUE(view->scene().selected.exists());
  EXPECT_EQ(view->scene().selected.rank, traces::WorldRank::of(1));
  const std::int64_t first = view->scene().selected.span.begin_ns;
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_GT(view->scene().selected.span.begin_ns, first);
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(view->scene().selected.span.begin_ns, first);
  field->setText("nonsense");
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_TRUE(status().contains("'nonsense' means nothing here"));
  QTest::keyClick(field, Qt::Key_Escape);
  EXPECT_TRUE(view->hasFocus());
}

TEST_F(TimelineViewTest, TheMomentStaysInSightWhileItMovesOn) {
  const double instant = view->scene().instant_ns;
  wheel(at(instant, traces::WorldRank::of(0)), 12);
  ASSERT_GE(instant, shown().begin_ns);
  window.navigator().move(3);
  EXPECT_GE(view->scene().instant_ns, shown().begin_ns);
  EXPECT_LE(view->scene().instant_ns, shown().end_ns);
}

TEST_F(TimelineViewTest, AnotherRecordingIsShownFromItsBeginning) {
  wheel(at(middle(), traces::WorldRank::of(0)), 12);
  test::RingRun other;
  other.cp = 2;
  open(other);
  EXPECT_EQ(view->scene().ranks.size(), 2u);
  EXPECT_EQ(shown(), view->scene().tracks->step(0)->window().withMargin());
}

}  // namespace
}  // namespace ringscope::viz
