// SPDX-License-Identifier: GPL-3.0-or-later
// The effect of keys for every position of the focus, and the visibility of the focus.
#include <QAbstractItemView>
#include <QTableView>

#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class KeyboardTest : public WindowTest {
 protected:
  QWidget* focusIn(const QString& view) {
    window.showView(view);
    QTest::qWait(20);
    auto* shown = window.findChild<Stage*>()->currentWidget();
    auto* list = shown->findChild<QAbstractItemView*>();
    QWidget* at = list ? list : shown;
    at->setFocus();
    return at;
  }
};

/// Returns a run in which some ranks' sums are wrong, so that comparisons diverge.
test::RingRun naiveSum() {
  test::RingRun run;
  run.naive_sum = true;
  return run;
}

TEST_F(KeyboardTest, NHoldsAtADivergenceAndSaysWhichUntilTheCursorGoesOn) {
  open(naiveSum());
  window.navigator().setMoment(0, 0);
  window.player().setPlaying(true);
  QTest::keyClick(&window, Qt::Key_N);
  EXPECT_FALSE(window.player().playing());
  const Place found = window.navigator().cursor().place;
  QTest::qWait(100);
  EXPECT_EQ(window.navigator().cursor().place, found) << "it stays there";
  EXPECT_NE(status().indexOf("▲ divergence 1 of "), -1) << status().toStdString();
  EXPECT_NE(
      status().indexOf(QString::fromStdString(window.navigator().cursor().tensor) + ", isolated"),
      -1)
      << status().toStdString();
  QTest::keyClick(&window, Qt::Key_N);
  EXPECT_NE(status().indexOf("▲ divergence 2 of "), -1);
  QTest::keyClick(&window, Qt::Key_Right);
  EXPECT_EQ(status().indexOf("divergence"), -1) << "it speaks of where the cursor was";
}

TEST_F(KeyboardTest, NSaysWhenNothingDiverges) {
  open();
  const Place before = window.navigator().cursor().place;
  QTest::keyClick(&window, Qt::Key_N);
  EXPECT_EQ(window.navigator().cursor().place, before);
  EXPECT_NE(status().indexOf("nothing that was compared diverges"), -1) << status().toStdString();
}

TEST_F(KeyboardTest, SpaceAndLettersWorkWhereAListHasTheFocus) {
  open();
  for (const char* view : {"doctor", "tensor"}) {
    window.player().setPlaying(false);
    window.navigator().setAxis(Axis::kRingStep);
    QWidget* at = focusIn(view);
    ASSERT_TRUE(at->hasFocus()) << view;
    QTest::keyClick(at, Qt::Key_Space);
    EXPECT_TRUE(window.player().playing()) << view;
    QTest::keyClick(at, Qt::Key_Space);
    EXPECT_FALSE(window.player().playing()) << view;
    QTest::keyClick(at, Qt::Key_T);
    EXPECT_EQ(window.navigator().cursor().axis, Axis::kTime) << view;
    QTest::keyClick(at, Qt::Key_3);
    EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(2)) << view;
    const int row = qobject_cast<QAbstractItemView*>(at)->currentIndex().row();
    QTest::keyClick(at, Qt::Key_Down);
    EXPECT_EQ(qobject_cast<QAbstractItemView*>(at)->currentIndex().row(), row + 1) << view;
  }
}

TEST_F(KeyboardTest, EachOfSixteenRanksHasAKey) {
  test::RingRun run;
  run.cp = 16;
  run.steps = run.layers = 1;
  run.keeps_tensors = false;
  open(run);
  for (int rank = 0; rank < 16; ++rank) {
    QTest::keyClick(&window, static_cast<Qt::Key>(Qt::Key_1 + rank % 8),
                    rank < 8 ? Qt::NoModifier : Qt::AltModifier);
    EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(rank));
  }
  QTest::keyClick(&window, Qt::Key_R);
  EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(0)) << "round again";
  QTest::keyClick(&window, Qt::Key_R, Qt::ShiftModifier);
  EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(15));
}

TEST_F(KeyboardTest, EveryTabStopIsSeenToHaveTheFocus) {
  open();
  QSet<QWidget*> seen;
  for (int i = 0; i < 160; ++i) {
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &window,
                    Qt::Key_Tab);
    QWidget* at = QApplication::focusWidget();
    ASSERT_NE(at, nullptr);
    if (seen.contains(at)) continue;
    seen << at;
    const QImage with = at->grab().toImage();
    at->clearFocus();
    const QImage without = at->grab().toImage();
    EXPECT_NE(with, without) << at->metaObject()->className() << " "
                             << at->accessibleName().toStdString();
    at->setFocus(Qt::TabFocusReason);
  }
  EXPECT_GT(seen.size(), 20);
}

TEST_F(KeyboardTest, TheWheelAndPageDownMoveAlongWhatDoesNotFit) {
  test::RingRun run;
  run.cp = 16;
  run.steps = run.layers = 1;
  open(run);
  window.resize(1280, 720);
  QWidget* view = focusIn("now");
  QTest::qWait(20);
  const QImage top = view->grab().toImage();
  QTest::keyClick(view, Qt::Key_PageDown);
  const QImage below = view->grab().toImage();
  window.resize(1920, 1400);
  QTest::qWait(50);
  const QImage roomy = view->grab().toImage();
  QTest::keyClick(view, Qt::Key_PageDown);
  EXPECT_EQ(view->grab().toImage(), roomy) << "all of it is there";
  window.resize(1280, 720);
  QTest::qWait(50);
  if (top == below) GTEST_SKIP() << "it fits";
  QTest::keyClick(view, Qt::Key_PageUp);
  EXPECT_EQ(view->grab().toImage(), top);
}

}  // namespace
}  // namespace ringscope::viz
