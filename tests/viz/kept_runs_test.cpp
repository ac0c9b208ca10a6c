// SPDX-License-Identifier: GPL-3.0-or-later
// Every run of the window has a file of its own.
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QMenu>

#include "tests/viz/own_runs.h"
#include "tests/viz/window_fixture.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {
namespace {

class KeptRunsTest : public OwnRuns, public WindowTest {
 protected:
  RunConfig shortRun() {
    RunConfig config;
    config.text = {test::sampleText()};
    config.steps = 1;
    config.seq_len = 64;
    config.cp = 2;
    return config;
  }
  void waitForEnd() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.engine().active(); }, 5000));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window.engine().active(); }, 60000))
        << status().toStdString();
  }
  void run() {
    window.startRun(shortRun());
    waitForEnd();
  }
  static QStringList kept() {
    return QDir(runsFolder()).entryList({"*.rscope"}, QDir::Files, QDir::Time | QDir::Reversed);
  }
  static QByteArray readContent(const QString& name) {
    QFile file(runsFolder() + "/" + name);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return file.readAll();
  }
  static void expectAllOpen() {
    for (const QString& name : kept()) {
      const auto trace = traces::openTrace((runsFolder() + "/" + name).toStdString());
      EXPECT_FALSE(trace->moments().empty()) << name.toStdString();
      EXPECT_TRUE(trace->problems().empty()) << name.toStdString();
    }
  }
};

TEST_F(KeptRunsTest, RunAgainAndWhatIfLeaveEveryEarlierRunAsItWas) {
  run();
  ASSERT_EQ(kept().size(), 1);
  const QString first = kept().first();
  EXPECT_TRUE(first.endsWith(" ring cp2 head_tail causal.rscope")) << first.toStdString();
  EXPECT_EQ(window.windowTitle(), first + " — RingScope");
  const QByteArray content = readContent(first);
  QTest::mouseClick(button("Run again"), Qt::LeftButton);
  EXPECT_TRUE(window.windowTitle().contains(" · starting — "))
      << window.windowTitle().toStdString();
  waitForEnd();
  EXPECT_EQ(kept().size(), 2);
  QTest::keyClick(&window, Qt::Key_F5);
  waitForEnd();
  EXPECT_EQ(kept().size(), 3);
  for (int i = 4; i <= 6; ++i) {  // includes a what-if of a what-if
    QTest::mouseClick(button("What if"), Qt::LeftButton);
    waitForEnd();
    EXPECT_EQ(kept().size(), i);
  }
  EXPECT_EQ(readContent(first), content);
  expectAllOpen();
}

TEST_F(KeptRunsTest, SpaceAfterAClickOnRunAgainPlays) {
  run();
  QTest::mouseClick(button("Run again"), Qt::LeftButton);
  waitForEnd();
  ASSERT_EQ(kept().size(), 2);
  window.player().setPlaying(false);
  ASSERT_NE(QApplication::focusWidget(), nullptr);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space);
  EXPECT_TRUE(window.player().playing());
  QTest::qWait(50);
  EXPECT_FALSE(window.engine().active());
  EXPECT_EQ(kept().size(), 2);
}

TEST_F(KeptRunsTest, ARunThatIsCutOffByTheNextOneIsKept) {
  RunConfig config = shortRun();
  config.steps = 1000;
  window.startRun(config);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return window.session().trace().moments().size() > 20; }, 20000));
  window.startRun(shortRun());
  waitForEnd();
  ASSERT_EQ(kept().size(), 2);
  for (const QString& name : kept())
    EXPECT_FALSE(traces::openTrace((runsFolder() + "/" + name).toStdString())->moments().empty());
}

TEST_F(KeptRunsTest, TwoWindowsKeepTheirRunsInOneFolder) {
  MainWindow other(test::kProgram);
  window.startRun(shortRun());
  other.startRun(shortRun());
  waitForEnd();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !other.engine().active(); }, 60000));
  EXPECT_EQ(kept().size(), 2);
  expectAllOpen();
}

TEST_F(KeptRunsTest, ARecordingThatTheConfigurationNamesIsNotReplaced) {
  RunConfig config = shortRun();
  config.trace = QString::fromStdString(dir.file("mine.rscope"));
  for (int i = 0; i < 2; ++i) {
    window.startRun(config);
    waitForEnd();
  }
  EXPECT_TRUE(kept().isEmpty());
  for (const char* name : {"mine.rscope", "mine 2.rscope"})
    EXPECT_FALSE(traces::openTrace(dir.file(name))->moments().empty()) << name;
  EXPECT_TRUE(status().contains("This run is recorded in " +
                                QString::fromStdString(dir.file("mine 2.rscope"))));
}

TEST_F(KeptRunsTest, ANoticeSaysWhichRunsWereRemovedAndWhy) {
  run();
  const QString first = kept().first();
  run();
  run();
  ASSERT_EQ(kept().size(), 3);
  auto* runs = window.findChild<RunsButton*>();
  runs->setLimit(1);
  Q_EMIT runs->limitChosen();
  EXPECT_EQ(kept().size(), 3);
  EXPECT_TRUE(status().contains("The end of the next run removes 2 old runs"))
      << status().toStdString();
  run();
  EXPECT_EQ(kept().size(), 1) << "the one on show";
  EXPECT_TRUE(status().contains("Removed 3 old runs (")) << status().toStdString();
  EXPECT_TRUE(status().contains("took more than 1 B, and the oldest go first: " + first));
  EXPECT_TRUE(status().contains("To keep a run, pin it"));
  EXPECT_TRUE(window.findChild<NoticeBar*>()->isVisible());
  for (auto* close : window.findChild<NoticeBar*>()->findChildren<QToolButton*>())
    QTest::mouseClick(close, Qt::LeftButton);
  EXPECT_FALSE(window.findChild<NoticeBar*>()->isVisible());
}

TEST_F(KeptRunsTest, APinnedRunAndBothSidesOfAWhatIfAreNeverRemoved) {
  run();
  const QString pinned = kept().first();
  auto* runs = window.findChild<RunsButton*>();
  QTimer::singleShot(50, &window, [&] {
    for (QAction* action : runs->menu()->actions())
      if (action->text() == "Pin this run") action->trigger();
    runs->menu()->close();
  });
  QTest::mouseClick(runs, Qt::LeftButton);
  EXPECT_TRUE(status().contains(pinned + " is pinned"));
  run();
  run();
  const QString before = kept().last();
  runs->setLimit(1);
  QTest::mouseClick(button("What if"), Qt::LeftButton);
  waitForEnd();
  EXPECT_TRUE(kept().contains(pinned));
  EXPECT_TRUE(kept().contains(before)) << "it is on show beside the what-if";
  EXPECT_EQ(kept().size(), 3);
  expectAllOpen();
}

TEST_F(KeptRunsTest, AFolderThatCannotBeWrittenLeavesWhatIsOnShow) {
  run();
  const QString title = window.windowTitle();
  const QString moved = runsFolder() + "-moved";
  ASSERT_TRUE(QDir().rename(runsFolder(), moved));
  QFile file(runsFolder());
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  QTest::mouseClick(button("Run again"), Qt::LeftButton);
  EXPECT_FALSE(window.engine().active());
  EXPECT_EQ(window.windowTitle(), title);
  EXPECT_FALSE(window.session().trace().moments().empty());
  EXPECT_TRUE(status().contains("the run cannot be recorded")) << status().toStdString();
  EXPECT_EQ(QDir(moved).entryList({"*.rscope"}, QDir::Files).size(), 1);
}

}  // namespace
}  // namespace ringscope::viz
