// SPDX-License-Identifier: GPL-3.0-or-later
// The page of runs and recordings, by mouse and by keys.
#include <QDir>
#include <QLineEdit>
#include <QListView>
#include <QMenu>

#include "tests/viz/legible.h"
#include "tests/viz/own_runs.h"
#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class HistoryWindowTest : public OwnRuns, public WindowTest {
 protected:
  HistoryPage& page() { return *window.page().history(); }
  QListView& list() { return *page().findChild<QListView*>(); }
  QLineEdit& search() { return *page().findChild<EntryField*>(); }
  QAbstractButton* action(const QString& text) {
    for (auto* b : page().findChildren<QAbstractButton*>())
      if (b->text() == text) return b;
    ADD_FAILURE() << text.toStdString();
    return nullptr;
  }
  void pressCtrlH() { QTest::keyClick(&window, Qt::Key_H, Qt::ControlModifier); }
  void waitForDigests() {
    EXPECT_TRUE(QTest::qWaitFor([&] { return window.history().isReady(); }, 20000));
  }
  /// Records a run as an earlier window did.
  QString keepRun(const QString& settings, const test::RingRun& run = {}) {
    RunFolder runs(runsFolder());
    const QString path =
        runs.makeRun(settings, QDateTime::currentDateTime().addSecs(++kept_)).path();
    test::recordFile(run, path.toStdString());
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadWrite));
    file.setFileTime(QDateTime::currentDateTime().addSecs(kept_ - 100),
                     QFileDevice::FileModificationTime);
    return path;
  }
  QModelIndex rowNamed(const QString& part) {
    for (int row = 0; row < list().model()->rowCount(); ++row)
      if (const auto index = list().model()->index(row, 0); index.data().toString().contains(part))
        return index;
    ADD_FAILURE() << part.toStdString();
    return {};
  }
  void click(const QModelIndex& row, Qt::KeyboardModifiers with = {}) {
    QTest::mouseClick(list().viewport(), Qt::LeftButton, with, list().visualRect(row).center());
  }
  QString words(const QModelIndex& row) { return row.data(Qt::AccessibleTextRole).toString(); }
  QString told() {
    QStringList all;
    for (auto* label : page().findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    return all.join("\n");
  }

 private:
  int kept_ = 0;
};

TEST_F(HistoryWindowTest, CtrlHShowsRunsAndOpenedRecordingsAndEscapeGoesBack) {
  keepRun("ring cp4");
  open();
  pressCtrlH();
  ASSERT_TRUE(page().isVisible());
  EXPECT_FALSE(window.page().stage()->isVisible());
  EXPECT_TRUE(search().hasFocus());
  EXPECT_EQ(list().model()->rowCount(), 2);
  waitForDigests();
  EXPECT_TRUE(words(rowNamed("run-0")).contains("4 ranks"))
      << words(rowNamed("run-0")).toStdString();
  QTest::keyClick(&search(), Qt::Key_Escape);
  EXPECT_FALSE(page().isVisible());
  EXPECT_TRUE(window.page().stage()->isVisible());
}

TEST_F(HistoryWindowTest, TheRunsMenuAndThePaletteLeadThereToo) {
  auto* runs = window.findChild<RunsButton*>();
  QTimer::singleShot(50, &window, [&] {
    runs->menu()->actions().first()->trigger();
    runs->menu()->close();
  });
  QTest::mouseClick(runs, Qt::LeftButton);
  EXPECT_TRUE(page().isVisible());
  pressCtrlH();
  EXPECT_FALSE(page().isVisible());
  bool is_listed = false;
  for (const QAction* command : window.actions())
    is_listed |= command->text() == "History: all runs and recordings";
  EXPECT_TRUE(is_listed);
}

TEST_F(HistoryWindowTest, ADoubleClickAndEnterOpen) {
  const QString a = keepRun("first"), b = keepRun("second");
  pressCtrlH();
  QSignalSpy opened(&window, &MainWindow::opened);
  click(rowNamed("first"));
  QTest::mouseDClick(list().viewport(), Qt::LeftButton, {},
                     list().visualRect(rowNamed("first")).center());
  ASSERT_TRUE(opened.wait(10000));
  EXPECT_EQ(window.session().path(), a);
  EXPECT_FALSE(page().isVisible());
  pressCtrlH();
  QTest::keyClicks(&search(), "second");
  EXPECT_EQ(list().model()->rowCount(), 1);
  QTest::keyClick(&search(), Qt::Key_Return);
  ASSERT_TRUE(opened.wait(10000));
  EXPECT_EQ(window.session().path(), b);
}

TEST_F(HistoryWindowTest, TheSearchFindsNamesAndVerdicts) {
  test::RingRun wrong;
  wrong.restarts_positions = true;
  keepRun("good");
  keepRun("bad", wrong);
  pressCtrlH();
  waitForDigests();
  EXPECT_TRUE(words(rowNamed("bad")).contains("▲")) << words(rowNamed("bad")).toStdString();
  QTest::keyClicks(&search(), "position");
  ASSERT_EQ(list().model()->rowCount(), 1);
  EXPECT_TRUE(list().model()->index(0, 0).data().toString().contains("bad"));
  QTest::keyClicks(&search(), " nowhere");
  EXPECT_EQ(list().model()->rowCount(), 0);
  EXPECT_TRUE(told().contains("Nothing matches “position nowhere”.")) << told().toStdString();
}

TEST_F(HistoryWindowTest, PinRenameAndDeleteByKeysAndTheNextWindowKnows) {
  keepRun("older");
  const QString path = keepRun("newer");
  pressCtrlH();
  list().setFocus();
  click(rowNamed("older"));
  QTest::keyClick(&list(), Qt::Key_P);
  EXPECT_TRUE(list().model()->index(0, 0).data().toString().contains("older")) << "pinned: on top";
  click(rowNamed("older"));
  QTest::keyClick(&list(), Qt::Key_F2);
  auto* field = list().viewport()->findChild<QLineEdit*>();
  ASSERT_NE(field, nullptr);
  field->selectAll();
  QTest::keyClicks(field, "baseline");
  QTest::keyClick(field, Qt::Key_Return);
  QCoreApplication::processEvents();
  EXPECT_EQ(list().model()->index(0, 0).data().toString(), "baseline");
  QTest::qWait(300);
  EXPECT_TRUE(window.session().path().isEmpty()) << "Enter ended the renaming, and opened nothing";
  MainWindow next(test::kProgram);
  next.show();
  QApplication::setActiveWindow(&next);
  QTest::keyClick(&next, Qt::Key_H, Qt::ControlModifier);
  auto* rows = next.page().history()->findChild<QListView*>()->model();
  ASSERT_EQ(rows->rowCount(), 2);
  EXPECT_EQ(rows->index(0, 0).data().toString(), "baseline");
  next.close();
  QApplication::setActiveWindow(&window);
  click(rowNamed("newer"));
  QTest::keyClick(&list(), Qt::Key_Delete);
  EXPECT_TRUE(told().contains("from the disk, with its notes?")) << told().toStdString();
  QTest::mouseClick(action("Keep"), Qt::LeftButton);
  EXPECT_TRUE(QFile::exists(path));
  QTest::keyClick(&list(), Qt::Key_Delete);
  QTest::mouseClick(action("Delete"), Qt::LeftButton);
  EXPECT_FALSE(QFile::exists(path));
  EXPECT_EQ(list().model()->rowCount(), 1);
  EXPECT_TRUE(told().contains("Deleted ")) << told().toStdString();
}

TEST_F(HistoryWindowTest, TwoSelectedRecordingsAreCompared) {
  keepRun("first");
  keepRun("second");
  pressCtrlH();
  click(rowNamed("second"));
  EXPECT_FALSE(action("Compare")->isEnabled()) << "nothing is on show to compare it with";
  click(rowNamed("first"), Qt::ControlModifier);
  QTest::mouseClick(action("Compare both"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window.viewing().comparison.state() == Comparison::State::kDone; }, 20000));
  EXPECT_FALSE(page().isVisible());
  EXPECT_EQ(window.page().stage()->shown(), "compare");
  EXPECT_TRUE(window.session().path().contains("second"));
  EXPECT_TRUE(window.viewing().comparison.other().contains("first"));
}

TEST_F(HistoryWindowTest, BrokenAndMissingFilesHaveALineThatSaysSo) {
  open();
  const std::string gone = dir.file("gone.rscope");
  test::recordFile({}, gone);
  openFile(gone);
  ASSERT_TRUE(QFile::remove(QString::fromStdString(gone)));
  QFile broken(keepRun("broken"));
  ASSERT_TRUE(broken.open(QIODevice::WriteOnly | QIODevice::Truncate));
  broken.write("no recording at all, and no notes either");
  broken.close();
  pressCtrlH();
  waitForDigests();
  EXPECT_TRUE(words(rowNamed("gone")).contains("not found: it was moved or deleted"));
  EXPECT_TRUE(words(rowNamed("broken")).contains("cannot be read: "))
      << words(rowNamed("broken")).toStdString();
  click(rowNamed("gone"));
  EXPECT_FALSE(action("Open")->isEnabled());
  QTest::mouseClick(action("Remove from list …"), Qt::LeftButton);
  QTest::mouseClick(action("Take off"), Qt::LeftButton);
  EXPECT_EQ(list().model()->rowCount(), 2);
}

TEST_F(HistoryWindowTest, TheStartPageOffersAtMostFiveRecentRecordings) {
  for (int i = 0; i < 7; ++i) keepRun("run" + QString::number(i));
  window.resize(1280, 1000);
  window.page().showStart(true);
  waitForDigests();
  auto lines = [&] {
    QList<QAbstractButton*> found;
    for (auto* b : window.page().start()->findChildren<QAbstractButton*>())
      if (b->isVisible() && b->text().startsWith("run")) found << b;
    return found;
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return lines().size() == 5; }, 5000));
  window.resize(1280, 720);
  ASSERT_TRUE(QTest::qWaitFor([&] { return lines().size() == 3; }, 5000)) << "less room";
  EXPECT_EQ(window.size(), QSize(1280, 720));
  QSignalSpy opened(&window, &MainWindow::opened);
  QTest::mouseClick(lines().first(), Qt::LeftButton);
  ASSERT_TRUE(opened.wait(10000));
  EXPECT_TRUE(window.session().path().endsWith("run6.rscope"));
}

TEST_F(HistoryWindowTest, ThePageIsLegibleInEveryTheme) {
  test::RingRun wrong;
  wrong.restarts_positions = true;
  keepRun("good");
  keepRun("bad", wrong);
  window.resize(1280, 720);
  pressCtrlH();
  waitForDigests();
  for (const Theme& theme : Theme::all()) {
    window.setTheme(theme);
    QCoreApplication::processEvents();
    test::Drawn picture(window.size());
    window.render(&picture);
    for (const std::string& sentence : test::illegible(picture))
      ADD_FAILURE() << theme.name.toStdString() << ": " << sentence;
  }
}

}  // namespace
}  // namespace ringscope::viz
