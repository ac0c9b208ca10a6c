// SPDX-License-Identifier: GPL-3.0-or-later
// Two runs that a window kept are found by the next window, which has no other help.
#include <QApplication>
#include <QElapsedTimer>
#include <QListView>

#include "tests/viz/own_runs.h"
#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class HistoryLiveTest : public OwnRuns, public testing::Test {
 protected:
  static RunConfig shortRun(int cp) {
    RunConfig config;
    config.text = {test::sampleText()};
    config.steps = 1;
    config.seq_len = 64;
    config.cp = cp;
    return config;
  }
  static void runOnce(MainWindow& window, const RunConfig& config) {
    window.startRun(config);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.engine().active(); }, 5000));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window.engine().active(); }, 60000));
  }
};

TEST_F(HistoryLiveTest, TwoKeptRunsAreFoundAndComparedByTheNextWindow) {
  {
    MainWindow window(test::kProgram);
    window.show();
    runOnce(window, shortRun(2));
    runOnce(window, shortRun(4));
  }
  QElapsedTimer clock;
  clock.start();
  MainWindow window(test::kProgram);
  window.page().showStart(true);
  window.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&window));
  QApplication::setActiveWindow(&window);  // Xvfb has no window manager that would do it
  QTest::keyClick(&window, Qt::Key_H, Qt::ControlModifier);
  auto* list = window.page().history()->findChild<QListView*>();
  ASSERT_EQ(list->model()->rowCount(), 2);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.history().isReady(); }, 30000));
  const auto words = [&](int row) {
    return list->model()->index(row, 0).data(Qt::AccessibleTextRole).toString();
  };
  EXPECT_TRUE(words(0).contains("ring cp4 head_tail causal")) << "the newest comes first";
  EXPECT_TRUE(words(1).contains("cp 2")) << words(1).toStdString();
  for (const int row : {0, 1})
    QTest::mouseClick(list->viewport(), Qt::LeftButton, row ? Qt::ControlModifier : Qt::NoModifier,
                      list->visualRect(list->model()->index(row, 0)).center());
  for (auto* button : window.page().history()->findChildren<QToolButton*>())
    if (button->text() == "Compare both") QTest::mouseClick(button, Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window.viewing().comparison.state() == Comparison::State::kDone; }, 30000));
  EXPECT_LT(clock.elapsed(), 60000);
}

}  // namespace
}  // namespace ringscope::viz
