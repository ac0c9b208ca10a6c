// SPDX-License-Identifier: GPL-3.0-or-later
// The keys that each control handles: real events at every control of the window.
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSpinBox>
#include <QToolButton>
#include <tuple>

#include "tests/viz/control_fixture.h"

namespace ringscope::viz {
namespace {

struct Key {
  Qt::Key key;
  Qt::KeyboardModifiers with = Qt::NoModifier;
};
const Key kTransportKeys[] = {
    {Qt::Key_Space},
    {Qt::Key_Left},
    {Qt::Key_Right},
    {Qt::Key_Left, Qt::ShiftModifier},
    {Qt::Key_Home},
    {Qt::Key_End},
    {Qt::Key_F},
    {Qt::Key_Right, Qt::ControlModifier},
    {Qt::Key_T},
    {Qt::Key_R},
    {Qt::Key_M},
    {Qt::Key_G},
    {Qt::Key_N},
    {Qt::Key_Plus},
    {Qt::Key_Minus},
    {Qt::Key_Equal},
    {Qt::Key_1},
    {Qt::Key_3},
    {Qt::Key_8},
    {Qt::Key_R, Qt::ShiftModifier},
    {Qt::Key_Space, Qt::ShiftModifier},
    {Qt::Key_Space, Qt::ControlModifier},
};

class InputRulesTest : public ControlTest {
 protected:
  static bool isTextField(const QWidget* w) {
    return qobject_cast<const QLineEdit*>(w) || qobject_cast<const QPlainTextEdit*>(w);
  }
  /// Returns everything that can have the focus and is neither a view nor a text field.
  QList<QWidget*> controls() {
    QList<QWidget*> all;
    for (auto* w : window.findChildren<QWidget*>()) {
      const bool focusable = w->focusPolicy() != Qt::NoFocus && w->isVisible() && w->isEnabled();
      if (focusable && !qobject_cast<View*>(w) && !isTextField(w) &&
          !qobject_cast<QAbstractSpinBox*>(w) && w->window() == &window)
        all << w;
    }
    return all;
  }
  /// Returns the view that contains a control, because a view may have keys of its own; otherwise
  /// the window.
  QWidget* owner(QWidget* control) {
    for (QWidget* w = control->parentWidget(); w; w = w->parentWidget())
      if (qobject_cast<View*>(w)) return w;
    return &window;
  }
  void rest() {
    window.player().setPlaying(false);
    window.player().setFollowing(false);
    window.player().setSpeed(1);
    window.player().setReducedMotion(false);
    window.navigator().setAxis(Axis::kRingStep);
    window.navigator().selectRank(WorldRank::of(1));
    window.navigator().setMoment(5, 0);
  }
  /// Returns the state that keys can change in the window.
  auto state() {
    const Player& player = window.player();
    const Navigator& at = window.navigator();
    return std::tuple(player.playing(), player.following(), player.speed(), player.reducedMotion(),
                      at.cursor().axis, at.cursor().rank, at.moment(), at.cursor().tensor);
  }
  static QVariant value(const QWidget* control) {
    if (const auto* b = qobject_cast<const QAbstractButton*>(control)) return b->isDown();
    if (const auto* c = qobject_cast<const QComboBox*>(control)) return c->currentIndex();
    return {};
  }
  void expectKeysPass(QWidget* control) {
    auto* button = qobject_cast<QAbstractButton*>(control);
    int presses = 0;
    QObject here;
    if (button) QObject::connect(button, &QAbstractButton::clicked, &here, [&] { ++presses; });
    for (const Key& key : kTransportKeys) {
      rest();
      QTest::keyClick(owner(control), key.key, key.with);
      const auto wanted = state();
      rest();
      const QVariant before = value(control);
      control->setFocus();
      ASSERT_TRUE(control->hasFocus()) << called(control);
      QTest::keyClick(control, key.key, key.with);
      EXPECT_EQ(state() == wanted, true) << called(control) << ", key " << key.key;
      EXPECT_EQ(value(control), before) << called(control) << ", key " << key.key;
    }
    EXPECT_EQ(presses, 0) << called(control);
    EXPECT_EQ(QApplication::activePopupWidget(), nullptr) << called(control);
  }
};

TEST_F(InputRulesTest, TransportKeysPassEveryFocusedControl) {
  QSet<QString> kinds;
  QSet<QWidget*> seen;
  for (const ViewEntry& entry : viewRegistry()) {
    window.showView(entry.name);
    QTest::qWait(20);
    for (QWidget* control : controls()) {
      if (seen.contains(control)) continue;
      expectKeysPass(control);
      kinds << control->metaObject()->className();
      seen << control;
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(seen.size(), 60);
  EXPECT_GE(kinds.size(), 6) << "buttons, tick boxes, choices, sliders, tables, texts";
}

TEST_F(InputRulesTest, SpaceAfterAClickOnAnyButtonPlaysAndPressesNothing) {
  int clicked = 0, focused = 0;
  for (auto* button : window.findChildren<QAbstractButton*>()) {
    if (!button->isVisible() || !button->isEnabled()) continue;
    if (auto* tool = qobject_cast<QToolButton*>(button); tool && tool->menu()) continue;
    QTest::mouseClick(button, Qt::LeftButton);
    QTest::qWait(30);  // whatever it opened is closed
    QApplication::setActiveWindow(&window);
    if (!button->isVisible() || !button->isEnabled()) continue;
    focused += button->hasFocus();
    rest();
    int presses = 0;
    QObject here;
    QObject::connect(button, &QAbstractButton::clicked, &here, [&] { ++presses; });
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : &window, Qt::Key_Space);
    const bool stepped = window.navigator().moment() == 6;  // the effect of Space in Now
    EXPECT_TRUE(window.player().playing() || stepped) << called(button);
    EXPECT_EQ(presses, 0) << called(button);
    ++clicked;
  }
  EXPECT_GT(clicked, 30);
  EXPECT_GT(focused, 10) << "those that a click gives the focus to";
}

TEST_F(InputRulesTest, EnterPressesTheFocusedButtonOnce) {
  for (const Qt::Key enter : {Qt::Key_Return, Qt::Key_Enter})
    for (auto* button : window.findChildren<QAbstractButton*>()) {
      if (!button->isVisible() || !button->isEnabled() || button->focusPolicy() == Qt::NoFocus)
        continue;
      if (auto* tool = qobject_cast<QToolButton*>(button); tool && tool->menu()) continue;
      int presses = 0;
      QObject here;
      QObject::connect(button, &QAbstractButton::clicked, &here, [&] { ++presses; });
      button->setFocus();
      ASSERT_TRUE(button->hasFocus()) << called(button);
      QTest::keyClick(button, enter);
      EXPECT_EQ(presses, 1) << called(button);
      QTest::qWait(30);
      QApplication::setActiveWindow(&window);
    }
}

TEST_F(InputRulesTest, EnterOpensTheListOfAChoiceAndAMenu) {
  closer_.stop();
  auto* strategy = boxNamed<QComboBox>("Strategy");
  strategy->setFocus();
  QTest::keyClick(strategy, Qt::Key_Return);
  EXPECT_TRUE(strategy->view()->isVisible());
  strategy->hidePopup();
  auto* runs = window.findChild<RunsButton*>();
  bool shown = false;
  QTimer::singleShot(50, &window, [&] {
    shown = runs->menu()->isVisible();
    runs->menu()->close();
  });
  runs->setFocus();
  QTest::keyClick(runs, Qt::Key_Return);
  EXPECT_TRUE(shown);
}

TEST_F(InputRulesTest, TextFieldsKeepWhatIsTyped) {
  window.showView("query");
  auto* sql = window.findChild<QPlainTextEdit*>();
  sql->clear();
  sql->setFocus();
  QTest::keyClicks(sql, "F 1 T");
  QTest::keyClick(sql, Qt::Key_Home);
  QTest::keyClicks(sql, "+");
  EXPECT_EQ(sql->toPlainText(), "+F 1 T");
  window.showView("tensor");
  auto* filter = window.findChild<Stage*>()->currentWidget()->findChild<QLineEdit*>();
  filter->setFocus();
  QTest::keyClicks(filter, "g n1");
  QTest::keyClick(filter, Qt::Key_Left);
  QTest::keyClicks(filter, "-");
  EXPECT_EQ(filter->text(), "g n-1");
}

TEST_F(InputRulesTest, ANumberKeepsDigitsAndPassesSpaceAndLetters) {
  auto* steps = boxNamed<QSpinBox>("Training steps");
  QTest::mouseClick(steps, Qt::LeftButton, {}, steps->rect().center());
  ASSERT_TRUE(steps->hasFocus());
  steps->selectAll();
  rest();
  QTest::keyClicks(steps, "37");
  EXPECT_EQ(steps->value(), 37);
  EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(1)) << "3 was typed";
  QTest::keyClick(steps, Qt::Key_Space);
  EXPECT_TRUE(window.player().playing());
  QTest::keyClick(steps, Qt::Key_T);
  EXPECT_EQ(window.navigator().cursor().axis, Axis::kTime);
  EXPECT_EQ(steps->value(), 37);
}

}  // namespace
}  // namespace ringscope::viz
