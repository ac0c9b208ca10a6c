// SPDX-License-Identifier: GPL-3.0-or-later
// The turns of the wheel that a box handles: real events at every box of the window.
#include <QAbstractSlider>
#include <QFileDialog>
#include <QLineEdit>
#include <QScrollBar>
#include <QSpinBox>
#include <QWheelEvent>

#include "tests/viz/control_fixture.h"
#include "viz/window/input_rules.h"

namespace ringscope::viz {
namespace {

class WheelTest : public ControlTest {
 protected:
  /// Sends a turn of the wheel as a window system does; the event propagates to parents.
  static void turnWheel(QWidget* at, int angle = -120) {
    const QPointF middle = at->rect().center();
    QWheelEvent event(middle, at->mapToGlobal(middle), {}, {0, angle}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(&event);
    qApp->notify(at, &event);
  }
  static int boxValue(const QWidget* box) {
    if (const auto* spin = qobject_cast<const QSpinBox*>(box)) return spin->value();
    if (const auto* slider = qobject_cast<const QAbstractSlider*>(box)) return slider->value();
    return qobject_cast<const QComboBox*>(box)->currentIndex();
  }
  QList<QWidget*> boxes() {
    QList<QWidget*> all;
    for (auto* w : window.findChildren<QWidget*>())
      if (InputRules::isBox(w) && w->isVisible() && w->isEnabled()) all << w;
    return all;
  }
};

TEST_F(WheelTest, NoBoxOfTheWindowTakesTheFocusByTheWheel) {
  int seen = 0;
  for (const ViewEntry& entry : viewRegistry()) {
    window.showView(entry.name);
    QTest::qWait(20);
    for (QWidget* box : boxes()) {
      ++seen;
      EXPECT_NE(box->focusPolicy(), Qt::WheelFocus) << called(box);
      window.setFocus();
      const int before = boxValue(box);
      for (const int angle : {-120, 120}) {
        turnWheel(box, angle);
        EXPECT_EQ(boxValue(box), before) << called(box) << " in " << entry.name.toStdString();
      }
      EXPECT_FALSE(box->hasFocus()) << called(box);
      box->setFocus(Qt::TabFocusReason);
      turnWheel(box);
      EXPECT_EQ(boxValue(box), before) << called(box) << " came by Tab";
    }
  }
  EXPECT_GT(seen, 100);
}

TEST_F(WheelTest, AWheelTurnOverABoxScrollsThePanel) {
  auto* area = window.findChild<RunPanel*>()->parentWidget()->parentWidget();
  auto* bar = qobject_cast<QScrollArea*>(area)->verticalScrollBar();
  ASSERT_GT(bar->maximum(), 0);
  int scrolled = 0;
  for (QWidget* box : boxes()) {
    if (!window.findChild<RunPanel*>()->isAncestorOf(box)) continue;
    bar->setValue(0);
    turnWheel(box);
    EXPECT_GT(bar->value(), 0) << called(box);
    ++scrolled;
  }
  EXPECT_GT(scrolled, 10);
}

TEST_F(WheelTest, ABoxTakesTheWheelAfterAClickUntilTheFocusGoes) {
  auto* steps = boxNamed<QSpinBox>("Training steps");
  QTest::mouseClick(steps->findChild<QLineEdit*>(), Qt::LeftButton);
  ASSERT_TRUE(steps->hasFocus());
  const int before = steps->value();
  turnWheel(steps);
  EXPECT_EQ(steps->value(), before - 1);
  auto* strategy = boxNamed<QComboBox>("Strategy");
  QTest::mouseClick(strategy, Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([] { return !QApplication::activePopupWidget(); }, 5000));
  QApplication::setActiveWindow(&window);  // a slow machine may deactivate it with the list
  ASSERT_TRUE(QTest::qWaitFor([&] { return strategy->hasFocus(); }, 5000))
      << (window.focusWidget() ? called(window.focusWidget()) : "nothing") << " has the focus";
  turnWheel(steps);
  EXPECT_EQ(steps->value(), before - 1) << "the focus is elsewhere";
  turnWheel(strategy);
  EXPECT_EQ(strategy->currentIndex(), 1);
  QTest::keyClick(strategy, Qt::Key_Tab);
  turnWheel(strategy);
  EXPECT_EQ(strategy->currentIndex(), 1);
}

TEST_F(WheelTest, BoxesOfDialogsFollowTheSameRule) {
  closer_.stop();
  QDialog dialog(&window);
  QSpinBox number(&dialog);
  number.setValue(5);
  QFileDialog files(&window);
  files.setOption(QFileDialog::DontUseNativeDialog);
  for (QDialog* each : {&dialog, static_cast<QDialog*>(&files)}) {
    each->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(each));
    int seen = 0;
    for (auto* box : each->findChildren<QWidget*>()) {
      if (!InputRules::isBox(box) || !box->isVisible()) continue;
      ++seen;
      const int before = boxValue(box);
      turnWheel(box);
      EXPECT_EQ(boxValue(box), before) << called(box);
      EXPECT_NE(box->focusPolicy(), Qt::WheelFocus) << called(box);
    }
    EXPECT_GT(seen, 0);
    each->close();
  }
}

}  // namespace
}  // namespace ringscope::viz
