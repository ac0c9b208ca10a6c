// SPDX-License-Identifier: GPL-3.0-or-later
// Another recording is opened under every view, with the cursor where it was. Each view must then
// look as in a window that has only opened the second recording.
#include <QTableView>
#include <filesystem>

#include "tests/viz/ring_runs.h"
#include "tests/viz/window_fixture.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::viz {
namespace {

struct Shown {
  QImage picture;
  QString words;
};

class ReplacedTraceTest : public WindowTest {
 protected:
  std::string fileOf(const test::RingRun& run) {
    const std::string path = dir.file("replaced-" + std::to_string(files_++) + ".rscope");
    test::recordFile(run, path);
    return path;
  }
  /// Opens a recording in a window, at its first moment.
  static void openIn(MainWindow& in, const std::string& path) {
    QSignalSpy opened(&in, &MainWindow::opened);
    in.openTrace(QString::fromStdString(path));
    ASSERT_TRUE(opened.wait(10000));
    ASSERT_EQ(opened.first().first().toString(), "");
    ASSERT_TRUE(QTest::qWaitFor([&] { return in.session().diagnosis().has_value(); }, 10000));
    in.player().setPlaying(false);
    in.navigator().setMoment(1, 0);  // the player may have played a part of the first moment
    in.navigator().setMoment(0, 0);
  }
  /// Returns the view on the stage once its background work is done.
  static Shown shownIn(MainWindow& in, const QString& name) {
    in.showView(name);
    auto* view = qobject_cast<View*>(in.findChild<Stage*>()->currentWidget());
    const auto is_ready = [&] {
      return !view->isMaking() && view->accessibleDescription() != "running";
    };
    EXPECT_TRUE(QTest::qWaitFor(is_ready, 10000)) << name.toStdString();
    QTest::qWait(10);
    QApplication::focusWidget() ? QApplication::focusWidget()->clearFocus() : void();
    return {view->grab().toImage(), view->accessibleDescription()};
  }
  static void expectSame(MainWindow& replaced, MainWindow& fresh, const QString& name) {
    const Shown now = shownIn(replaced, name), expected = shownIn(fresh, name);
    EXPECT_EQ(now.words.toStdString(), expected.words.toStdString()) << name.toStdString();
    EXPECT_EQ(now.picture, expected.picture) << name.toStdString();
  }
  /// A panel that the view on show hides keeps its last picture until it is shown again.
  static void expectSamePanels(MainWindow& replaced, MainWindow& fresh) {
    for (const char* name : {"Inspector of the selected rank",
                             "Timeline: a lane a rank, blocks attended, merges, waits and hops"})
      EXPECT_TRUE(QTest::qWaitFor(  // a panel's height follows one event after it was drawn
          [&] { return !isShown(fresh, name) || panelIn(replaced, name) == panelIn(fresh, name); },
          1000))
          << name;
  }
  static View* panel(MainWindow& in, const QString& name) {
    for (View* view : in.findChildren<View*>())
      if (view->accessibleName() == name) return view;
    throw std::runtime_error("no panel " + name.toStdString());
  }
  static bool isShown(MainWindow& in, const QString& name) { return panel(in, name)->isVisible(); }
  static QImage panelIn(MainWindow& in, const QString& name) {
    return panel(in, name)->grab().toImage();
  }
  std::unique_ptr<MainWindow> freshWindow(const std::string& path) {
    auto fresh = std::make_unique<MainWindow>(test::kProgram);
    fresh->resize(window.size());
    fresh->show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(fresh.get()));
    openIn(*fresh, path);
    return fresh;
  }

 private:
  int files_ = 0;
};

test::RingRun ofRanks(int cp) {
  test::RingRun run;
  run.cp = cp;
  return run;
}

TEST_F(ReplacedTraceTest, EveryVisibleViewFollowsToTheNextRecording) {
  const std::string right = fileOf({});
  for (const test::RingRun& next : {restartingPositions(), ofRanks(8), test::packed()}) {
    const std::string path = fileOf(next);
    const auto fresh = freshWindow(path);
    for (const ViewEntry& entry : viewRegistry()) {
      openIn(window, right);
      shownIn(window, entry.name);
      openIn(window, path);
      expectSame(window, *fresh, entry.name);
      expectSamePanels(window, *fresh);
    }
  }
}

TEST_F(ReplacedTraceTest, EveryHiddenViewIsOfTheRecordingThatWasOpenedLast) {
  for (const auto& [before, after] : {std::pair(test::RingRun(), restartingPositions()),
                                      {ofRanks(8), ofRanks(4)},
                                      {restartingPositions(), test::RingRun()}}) {
    openIn(window, fileOf(before));
    for (const ViewEntry& entry : viewRegistry()) shownIn(window, entry.name);
    window.showView("now");
    const std::string path = fileOf(after);
    openIn(window, path);
    const auto fresh = freshWindow(path);
    for (const ViewEntry& entry : viewRegistry()) {
      expectSame(window, *fresh, entry.name);
      expectSamePanels(window, *fresh);
    }
  }
}

TEST_F(ReplacedTraceTest, AFileThatWasRecordedAgainIsReadAgainInEveryView) {
  const std::string path = fileOf({}), again = fileOf(restartingPositions());
  openIn(window, path);
  for (const ViewEntry& entry : viewRegistry()) shownIn(window, entry.name);
  window.showView("now");
  std::filesystem::rename(again, path);
  openIn(window, path);
  const auto fresh = freshWindow(path);
  for (const ViewEntry& entry : viewRegistry()) {
    expectSame(window, *fresh, entry.name);
    expectSamePanels(window, *fresh);
  }
}

}  // namespace
}  // namespace ringscope::viz
