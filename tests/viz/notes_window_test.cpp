// SPDX-License-Identifier: GPL-3.0-or-later
// The panel of notes about the recording on show, by mouse and by keys.
#include <QFile>
#include <QListWidget>

#include "tests/viz/legible.h"
#include "tests/viz/own_runs.h"
#include "tests/viz/window_fixture.h"
#include "viz/window/notes_panel.h"

namespace ringscope::viz {
namespace {

class NotesWindowTest : public OwnRuns, public WindowTest {
 protected:
  NotesPanel& panel() { return *window.page().stage()->notes(); }
  QListWidget& list() { return *panel().findChild<QListWidget*>(); }
  EntryField& field() { return *panel().findChild<EntryField*>(); }
  void press(Qt::Key key, Qt::KeyboardModifiers with) {
    QTest::keyClick(QApplication::focusWidget(), key, with);
    QCoreApplication::processEvents();
  }
  void write(const QString& text) {
    press(Qt::Key_N, Qt::ControlModifier);
    ASSERT_TRUE(field().hasFocus());
    QTest::keyClicks(&field(), text);
    press(Qt::Key_Return, {});
  }
  QString words() {
    QStringList all;
    for (auto* label : panel().findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    return all.join("\n");
  }
};

TEST_F(NotesWindowTest, ANoteLeadsBackToItsMomentAndView) {
  open();
  window.showView("positions");
  window.navigator().setMoment(3, 0);
  window.navigator().selectRank(WorldRank::of(2));
  const Cursor there = window.navigator().cursor();
  write("look here");
  EXPECT_TRUE(window.page().stage()->current()->hasFocus()) << "keys go on with the view";
  ASSERT_EQ(list().count(), 1);
  window.showView("ring");
  window.navigator().setMoment(0, 0);
  QTest::mouseClick(list().viewport(), Qt::LeftButton, {},
                    list().visualItemRect(list().item(0)).center());
  EXPECT_EQ(window.navigator().cursor().place, there.place);
  EXPECT_EQ(window.navigator().cursor().rank, there.rank);
  EXPECT_EQ(window.page().stage()->shown(), "positions");
  QTest::keyClick(window.page().stage()->current(), Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(window.page().stage()->shown(), "ring") << "and back";
}

TEST_F(NotesWindowTest, AnEmptyNoteIsABookmark) {
  open();
  write("");
  ASSERT_EQ(list().count(), 1);
  EXPECT_EQ(list().item(0)->text(), "");
  EXPECT_TRUE(list().item(0)->data(Qt::UserRole).toString().startsWith("step 0"));
}

TEST_F(NotesWindowTest, CtrlZAndCtrlShiftZUndoAndRedo) {
  open();
  write("first");
  write("second");
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(list().count(), 1);
  press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(list().count(), 2);
  list().setFocus();
  list().setCurrentRow(0);
  press(Qt::Key_Delete, {});
  EXPECT_EQ(list().count(), 1);
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(list().count(), 2);
}

TEST_F(NotesWindowTest, TheNotesStayWithTheRecording) {
  open();
  write("of the first");
  const QString first = window.session().path();
  EXPECT_TRUE(words().contains("Kept beside the recording.")) << words().toStdString();
  open();
  QCoreApplication::processEvents();
  EXPECT_EQ(list().count(), 0);
  EXPECT_TRUE(words().contains("No notes yet."));
  openFile(first.toStdString());
  QCoreApplication::processEvents();
  ASSERT_EQ(list().count(), 1);
  EXPECT_EQ(list().item(0)->text(), "of the first");
}

TEST_F(NotesWindowTest, ThePanelSaysWhenTheNotesAreKeptElsewhere) {
  open();
  ASSERT_TRUE(QDir().mkpath(window.session().path() + ".notes/taken"));
  write("elsewhere");
  EXPECT_TRUE(words().contains("Kept in your data folder")) << words().toStdString();
}

TEST_F(NotesWindowTest, WithoutARecordingThePanelSaysWhatToDo) {
  press(Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
  ASSERT_TRUE(panel().isVisible());
  EXPECT_FALSE(field().isEnabled());
  EXPECT_TRUE(words().contains("Open a recording")) << words().toStdString();
  press(Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_FALSE(panel().isVisible());
}

TEST_F(NotesWindowTest, ThePanelIsLegibleInEveryTheme) {
  window.resize(1280, 720);
  open();
  write("the queries of rank 2 are late here, because its neighbour is");
  write("");
  for (const Theme& theme : Theme::all()) {
    window.setTheme(theme);
    QCoreApplication::processEvents();
    test::Drawn picture(panel().size());
    panel().render(&picture);
    for (const std::string& sentence : test::illegible(picture))
      ADD_FAILURE() << theme.name.toStdString() << ": " << sentence;
  }
}

}  // namespace
}  // namespace ringscope::viz
