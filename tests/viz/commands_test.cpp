// SPDX-License-Identifier: GPL-3.0-or-later
// Commands of the window: the Go to bar, the palette, and a key for every view.
#include <QMenu>
#include <QTableWidget>
#include <tuple>

#include "tests/viz/window_fixture.h"
#include "viz/views/coverage/coverage_painter.h"
#include "viz/views/merge/merge_scene.h"
#include "viz/views/positions/positions_painter.h"
#include "viz/window/command_palette.h"
#include "viz/window/go_to_bar.h"

namespace ringscope::viz {
namespace {

class CommandsTest : public WindowTest {
 protected:
  StageArea* stage() { return window.findChild<StageArea*>(); }
  GoToBar* bar() { return window.findChild<GoToBar*>(); }
  EntryField* place() { return bar()->findChild<EntryField*>(); }
  CommandPalette* palette() { return window.findChild<CommandPalette*>(); }
  EntryField* filter() { return palette()->findChild<EntryField*>(); }
  QTableWidget* list() { return palette()->findChild<QTableWidget*>(); }
  const Cursor& cursor() { return window.navigator().cursor(); }
  View* show(const QString& name) {
    window.showView(name);
    QTest::qWait(20);
    return qobject_cast<View*>(stage()->current());
  }
  void goTo(const QString& words) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_G, Qt::ControlModifier);
    ASSERT_TRUE(place()->hasFocus());
    QTest::keyClicks(place(), words);
    QTest::keyClick(place(), Qt::Key_Return);
  }
  void openPalette() {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_P,
                    Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_TRUE(palette()->isVisible());
    ASSERT_TRUE(filter()->hasFocus());
  }
  /// Returns the state that keys can change in the window.
  auto state() {
    const Player& player = window.player();
    return std::tuple(player.playing(), player.following(), player.speed(), player.reducedMotion(),
                      cursor(), stage()->shown());
  }
};

TEST_F(CommandsTest, GoToMovesThePlaceInAllViewsAndAltLeftComesBack) {
  open();
  show("coverage");
  window.navigator().setMoment(1, 0);
  const Place before = cursor().place;
  goTo("layer 1 backward rank 2");
  EXPECT_EQ(traces::describe(cursor().place), "step 0 › layer 1 › backward › ring step 0");
  EXPECT_EQ(cursor().rank, WorldRank::of(2));
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_TRUE(stage()->current()->hasFocus());
  EXPECT_EQ(stage()->shown(), "coverage");
  EXPECT_TRUE(status().contains("layer 1 › backward › ring step 0 · rank 2"));
  QTest::keyClick(stage()->current(), Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(cursor().place, before);
  goTo("step 1 ring step 3");
  EXPECT_EQ(cursor().place.train_step, 1);
  EXPECT_EQ(cursor().place.stage, RingStep::of(3));
}

TEST_F(CommandsTest, GoToSaysWhatIsAcceptedAndStaysOpen) {
  open();
  const Cursor before = cursor();
  goTo("rank 9");
  EXPECT_EQ(cursor(), before);
  EXPECT_TRUE(bar()->isVisible());
  EXPECT_TRUE(status().contains("There is no rank 9 here; accepted are ranks 0–3."));
  QTest::keyClick(place(), Qt::Key_Escape);
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_TRUE(stage()->current()->hasFocus());
  QTest::keyClick(stage()->current(), Qt::Key_G, Qt::ControlModifier);
  QTest::keyClicks(place(), "rank 3");
  EXPECT_TRUE(status().contains("Enter goes to ")) << "says it while one types";
  QTest::keyClick(place(), Qt::Key_Return);
  EXPECT_EQ(cursor().rank, WorldRank::of(3));
}

TEST_F(CommandsTest, GoToIsUsableWithoutARecording) {
  goTo("token 1");
  EXPECT_TRUE(bar()->isVisible());
  EXPECT_TRUE(status().contains("No ring step is recorded yet"));
}

TEST_F(CommandsTest, TheSelectedTokenLeadsToItsMerge) {
  open();
  View* view = show("positions");
  QTest::keyClick(view, Qt::Key_M, Qt::ControlModifier);
  EXPECT_TRUE(status().contains("no token is selected"));
  EXPECT_EQ(stage()->shown(), "positions");
  goTo("token 42");
  EXPECT_EQ(cursor().token, TokenIndex::of(42));
  EXPECT_EQ(cursor().rank, WorldRank::of(2));
  QTest::keyClick(view, Qt::Key_M, Qt::ControlModifier);
  EXPECT_EQ(stage()->shown(), "merge");
  QTest::keyClick(stage()->current(), Qt::Key_Down);
  EXPECT_EQ(cursor().token, TokenIndex::of(43)) << "the next row is selected everywhere";
  QTest::keyClick(stage()->current(), Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(stage()->shown(), "positions");
  QTest::keyClick(stage()->current(), Qt::Key_1);
  EXPECT_TRUE(cursor().token.isNone()) << "another rank does not own it";
}

TEST_F(CommandsTest, ADoubleClickOnATokenShowsItsMerge) {
  open();
  View* view = show("positions");
  const PositionsScene scene =
      makePositionsScene(window.session().trace(), cursor(), window.session().positions(cursor()));
  const QRectF page(0, 0, view->width(), view->height());
  std::optional<QPoint> at;
  for (int y = 0; y < view->height() && !at; y += 4)
    for (int x = 0; x < view->width() && !at; x += 4)
      if (positionsTokenHit(QPointF(x, y), page, scene, 0) == 5) at = QPoint(x + 4, y + 4);
  ASSERT_TRUE(at);
  const QImage before = view->grab().toImage();
  QTest::mouseClick(view, Qt::LeftButton, {}, *at);
  EXPECT_EQ(cursor().token, scene.table.cells[5].global);
  EXPECT_NE(view->grab().toImage(), before) << "it is marked";
  QTest::mouseDClick(view, Qt::LeftButton, {}, *at);
  EXPECT_EQ(stage()->shown(), "merge");
}

TEST_F(CommandsTest, ADoubleClickOnACoverageCellShowsTheMergeOfItsLastQuery) {
  open();
  window.navigator().selectRank(WorldRank::of(1));
  View* view = show("coverage");
  const CoverageScene scene = makeCoverageScene(window.session().trace(), cursor());
  const QRectF page(0, 0, view->width(), view->height());
  std::optional<QPoint> at;
  for (int y = 0; y < view->height() && !at; y += 4)
    for (int x = 0; x < view->width() && !at; x += 4)
      if (const auto pair = coverageHit(QPointF(x, y), page, scene); pair && pair->query == 2)
        at = QPoint(x + 4, y + 4);
  ASSERT_TRUE(at);
  QContextMenuEvent asked(QContextMenuEvent::Mouse, *at, view->mapToGlobal(*at));
  QApplication::sendEvent(view, &asked);
  auto* menu = view->findChild<QMenu*>();
  ASSERT_TRUE(menu);
  EXPECT_EQ(menu->actions().front()->text(), "Show merge of token 47");
  menu->close();
  QTest::mouseDClick(view, Qt::LeftButton, {}, *at);
  EXPECT_EQ(stage()->shown(), "merge");
  EXPECT_EQ(cursor().token, TokenIndex::of(47));
  EXPECT_EQ(cursor().rank, WorldRank::of(2));
}

TEST_F(CommandsTest, ThePaletteListsEveryActionWithItsKeyAndRunsTheChosenOne) {
  open();
  openPalette();
  int with_text = 0;
  for (const QAction* action : window.actions()) {
    ++with_text;
    EXPECT_FALSE(action->text().isEmpty());
    EXPECT_EQ(list()->findItems(action->text(), Qt::MatchExactly).size(), 1)
        << action->text().toStdString();
  }
  EXPECT_EQ(list()->rowCount(), with_text);
  EXPECT_GT(with_text, 50);
  QTest::keyClicks(filter(), "tep nex train");
  ASSERT_EQ(list()->rowCount(), 1) << "parts of words, in any order";
  EXPECT_EQ(list()->item(0, 0)->text(), "Next training step");
  EXPECT_EQ(list()->item(0, 1)->text(), "Ctrl+Right");
  QTest::keyClick(filter(), Qt::Key_Return);
  EXPECT_FALSE(palette()->isVisible());
  EXPECT_EQ(cursor().place.train_step, 1);
  EXPECT_TRUE(stage()->current()->hasFocus());
}

TEST_F(CommandsTest, ArrowsMoveInThePaletteAndEscClosesIt) {
  open();
  openPalette();
  QTest::keyClicks(filter(), "show");
  ASSERT_GT(list()->rowCount(), 10);
  QTest::keyClick(filter(), Qt::Key_Up);
  EXPECT_EQ(list()->currentRow(), 0);
  QTest::keyClick(filter(), Qt::Key_Down);
  EXPECT_EQ(list()->currentRow(), 1);
  EXPECT_EQ(filter()->accessibleDescription(), list()->item(1, 0)->text());
  const auto before = state();
  QTest::keyClick(filter(), Qt::Key_Space);
  QTest::keyClick(filter(), Qt::Key_F);
  QTest::keyClick(filter(), Qt::Key_Escape);
  EXPECT_FALSE(palette()->isVisible());
  EXPECT_TRUE(state() == before);
  EXPECT_TRUE(stage()->current()->hasFocus());
  openPalette();
  EXPECT_EQ(filter()->text(), "");
  QTest::keyClicks(filter(), "no such command");
  EXPECT_EQ(list()->rowCount(), 0);
  QTest::keyClick(filter(), Qt::Key_Return);
  EXPECT_TRUE(palette()->isVisible()) << "nothing was run";
  filter()->setText("Show Memory");
  QTest::mouseClick(list()->viewport(), Qt::LeftButton, {},
                    list()->visualItemRect(list()->item(0, 0)).center());
  EXPECT_EQ(stage()->shown(), "memory");
  EXPECT_FALSE(palette()->isVisible());
}

TEST_F(CommandsTest, SlashFocusesTheSearchOfTheViewOrElseThePalette) {
  open();
  for (const char* searched : {"timeline", "tensor"}) {
    View* view = show(searched);
    view->setFocus();
    QTest::keyClick(view, Qt::Key_Slash);
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    ASSERT_TRUE(field) << searched;
    EXPECT_TRUE(view->isAncestorOf(field)) << searched;
    QTest::keyClicks(field, "a/b");
    EXPECT_EQ(field->text(), "a/b") << "it is typed in a field";
  }
  View* ring = show("ring");
  QTest::keyClick(ring, Qt::Key_Slash);
  EXPECT_TRUE(palette()->isVisible());
}

TEST_F(CommandsTest, EveryViewHasAKeyAndCtrlTabGoesRound) {
  open();
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    window.showView(entries[i == 0 ? 1 : 0].name);
    const auto key = viewKey(i)[0];
    QTest::keyClick(&window, key.key(), key.keyboardModifiers());
    EXPECT_EQ(stage()->shown(), entries[i].name);
  }
  window.showView(entries.front().name);
  for (std::size_t i = 1; i <= entries.size(); ++i) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab, Qt::ControlModifier);
    EXPECT_EQ(stage()->shown(), entries[i % entries.size()].name);
  }
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Backtab,
                  Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(stage()->shown(), entries.back().name);
}

TEST_F(CommandsTest, AKeyWithAModifierIsAnotherKey) {
  open();
  window.navigator().setMoment(2, 0);
  for (const ViewEntry& entry : viewRegistry()) {
    View* view = show(entry.name);
    const auto before = state();
    for (const auto with :
         {Qt::KeyboardModifiers(Qt::ControlModifier), Qt::KeyboardModifiers(Qt::MetaModifier),
          Qt::ControlModifier | Qt::AltModifier}) {
      for (int key = Qt::Key_A; key <= Qt::Key_Z; ++key) {
        const QKeySequence sequence(with | static_cast<Qt::Key>(key));
        const bool is_command = std::ranges::any_of(
            window.actions(), [&](const QAction* a) { return a->shortcuts().contains(sequence); });
        if (is_command) continue;
        QTest::keyClick(view, static_cast<Qt::Key>(key), with);
        EXPECT_TRUE(state() == before)
            << entry.name.toStdString() << ": " << sequence.toString().toStdString();
      }
      for (const auto key : {Qt::Key_Space, Qt::Key_Home, Qt::Key_End, Qt::Key_Up, Qt::Key_Down}) {
        QTest::keyClick(view, key, with);
        EXPECT_TRUE(state() == before) << entry.name.toStdString() << ": " << key;
      }
    }
  }
}

TEST_F(CommandsTest, CtrlFSearchesAndStaysAtTheRingStep) {
  open();
  window.navigator().setMoment(2, 0);
  View* view = show("timeline");
  QTest::keyClick(view, Qt::Key_F, Qt::ControlModifier);
  EXPECT_EQ(window.navigator().moment(), 2);
  EXPECT_FALSE(window.player().following());
  EXPECT_TRUE(qobject_cast<QLineEdit*>(QApplication::focusWidget()));
}

}  // namespace
}  // namespace ringscope::viz
