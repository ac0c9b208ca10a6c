// SPDX-License-Identifier: GPL-3.0-or-later
// The run form says the settings of what is on show, and no others as if they were its own.
#include <QSpinBox>

#include "tests/viz/window_fixture.h"
#include "viz/window/run_panel.h"

namespace ringscope::viz {
namespace {

class RunFormTruthTest : public WindowTest {
 protected:
  RunPanel* panel() { return window.findChild<RunPanel*>(); }
  QSpinBox* number(const QString& name) {
    for (auto* box : window.findChildren<QSpinBox*>())
      if (box->accessibleName() == name) return box;
    return nullptr;
  }
  QLabel* label(const QString& text) {
    for (auto* label : panel()->findChildren<QLabel*>())
      if (label->isVisibleTo(panel()) && label->text() == text) return label;
    return nullptr;
  }
  /// The labels of all rows that are marked.
  QStringList marked() {
    QStringList rows;
    for (auto* label : panel()->findChildren<QLabel*>())
      if (label->text().startsWith("● ")) rows << label->text().mid(2);
    return rows;
  }
};

TEST_F(RunFormTruthTest, ShowsAllRanksOfALargeRun) {
  test::RingRun run;
  run.cp = 64;
  open(run);
  EXPECT_EQ(number("Ranks")->value(), 64);
  EXPECT_EQ(panel()->config().cp, 64) << "Run again runs what is shown";
}

TEST_F(RunFormTruthTest, ShowsMoreThanItOffersWhereARecordingHasMore) {
  RunConfig config = panel()->config();
  config.dp = 100;
  config.steps = 100'000;
  panel()->setConfig(config);
  EXPECT_EQ(number("Data parallel ranks")->value(), 100);
  EXPECT_EQ(panel()->config().dp, 100);
  EXPECT_EQ(panel()->config().steps, 100'000);
}

TEST_F(RunFormTruthTest, MarksASettingThatDiffersFromTheRunOnShow) {
  open();
  EXPECT_EQ(marked().filter("Balance"), QStringList());
  auto* balance = choice("Balance");
  balance->setFocus();
  QTest::keyClick(balance, Qt::Key_Down);
  ASSERT_NE(balance->currentText(), "head_tail");
  EXPECT_TRUE(marked().contains("Balance"));
  EXPECT_EQ(label("● Balance")->toolTip(), "The run on show has: head_tail");
  EXPECT_EQ(balance->accessibleDescription(), "The run on show has: head_tail");
  QTest::keyClick(balance, Qt::Key_Up);
  EXPECT_FALSE(marked().contains("Balance"));
  EXPECT_EQ(balance->accessibleDescription(), "");
}

TEST_F(RunFormTruthTest, SaysThatItsSettingsAreNotThoseOfAJobRecordedElsewhere) {
  open();
  EXPECT_EQ(label("On show is a job that was recorded elsewhere. These settings are those of a new "
                  "run, not of the job."),
            nullptr);
  openFile(test::inSources("tests/reference/hand_recording"));
  EXPECT_NE(label("On show is a job that was recorded elsewhere. These settings are those of a new "
                  "run, not of the job."),
            nullptr)
      << status().toStdString();
  EXPECT_EQ(marked(), QStringList()) << "there is nothing to differ from";
}

}  // namespace
}  // namespace ringscope::viz
