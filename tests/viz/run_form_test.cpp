// SPDX-License-Identifier: GPL-3.0-or-later
// The choices of the run form, made by mouse and keys.
#include <QAbstractItemView>
#include <QCheckBox>
#include <QComboBox>
#include <QSpinBox>
#include <filesystem>

#include "tests/support/run_program.h"
#include "tests/viz/window_fixture.h"
#include "traces/format/core/error.h"
#include "viz/window/run_panel.h"

namespace ringscope::viz {
namespace {

class RunFormTest : public WindowTest {
 protected:
  QSpinBox* number(const QString& name) {
    for (auto* box : window.findChildren<QSpinBox*>())
      if (box->accessibleName() == name) return box;
    return nullptr;
  }
  bool isMarked(const QString& row) {
    for (const auto* label : window.findChildren<QLabel*>("differs"))
      if (label->property("row") == row) return label->isVisible();
    ADD_FAILURE() << "no row " << row.toStdString();
    return false;
  }
};

/// Returns the contrast between the text of a line of an open list and its ground.
int contrastOf(QComboBox* box, const QString& line) {
  const QRect row = box->view()->visualRect(box->model()->index(box->findText(line), 0));
  const QImage drawn = box->view()->viewport()->grab(row).toImage();
  int least = 255, most = 0;
  for (int y = 2; y < drawn.height() - 2; ++y)
    for (int x = 2; x < drawn.width() - 2; ++x) {
      least = std::min(least, qGray(drawn.pixel(x, y)));
      most = std::max(most, qGray(drawn.pixel(x, y)));
    }
  return most - least;
}

/// Clicks on the box and on a line of its list.
void chooseByMouse(QComboBox* box, const QString& line) {
  QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(box->width() - 12, box->height() / 2));
  ASSERT_TRUE(QTest::qWaitFor([&] { return box->view()->isVisible(); }, 5000));
  // For the time of a double click, the list treats a release as the one that opened it.
  QTest::qWait(QApplication::doubleClickInterval() + 50);
  const QRect row = box->view()->visualRect(box->model()->index(box->findText(line), 0));
  QTest::mouseMove(box->view()->viewport(), row.center());
  QTest::mouseClick(box->view()->viewport(), Qt::LeftButton, {}, row.center());
  if (box->view()->isVisible()) QTest::keyClick(box->view(), Qt::Key_Escape);
}

TEST_F(RunFormTest, KernelAndHopsAreChosenWithTheMouse) {
  auto *kernel = choice("Kernel"), *hops = choice("Hops");
  chooseByMouse(kernel, "math");
  EXPECT_EQ(kernel->currentText(), "math");
  chooseByMouse(hops, "ordered");
  EXPECT_EQ(hops->currentText(), "ordered");
  const RunConfig config = window.findChild<RunPanel*>()->config();
  EXPECT_EQ(config.kernel, traces::Kernel::kMath);
  EXPECT_EQ(config.p2p, traces::PointToPoint::kOrdered);
  EXPECT_TRUE(config.arguments().join(" ").contains("--kernel math --p2p ordered"));
  EXPECT_TRUE(button("Run")->isEnabled());
}

TEST_F(RunFormTest, AMistakeOfOnePlaceIsKeptUntilItsBoxIsUnticked) {
  auto* panel = window.findChild<RunPanel*>();
  RunConfig config = panel->config();
  config.mistakes = {"naive_sum_merge:layer=1,step=0"};
  panel->setConfig(config);
  EXPECT_TRUE(panel->config().arguments().contains("naive_sum_merge:layer=1,step=0"));
  QCheckBox* box = nullptr;
  for (QCheckBox* candidate : panel->findChildren<QCheckBox*>())
    if (candidate->property("id") == "naive_sum_merge") box = candidate;
  ASSERT_TRUE(box);
  EXPECT_TRUE(box->toolTip().contains("layer 1, step 0")) << box->toolTip().toStdString();
  box->setFocus();
  QTest::keyClick(box, Qt::Key_Return);
  QTest::keyClick(box, Qt::Key_Return);
  EXPECT_EQ(panel->config().mistakes, QStringList{"naive_sum_merge"});
}

TEST_F(RunFormTest, AMistakeThatWouldChangeNothingIsGreyAndSaysWhy) {
  const auto box = [&](const char* id) -> QCheckBox* {
    for (QCheckBox* candidate : window.findChildren<QCheckBox*>())
      if (candidate->property("id") == id) return candidate;
    return nullptr;
  };
  auto *recompute = box("recompute_differs"), *window_mask = box("mask_dropped"),
       *balance = box("balance_without_causal"), *merge = box("naive_sum_merge");
  ASSERT_TRUE(recompute && window_mask && balance && merge);
  EXPECT_TRUE(merge->isEnabled());
  for (QCheckBox* grey : {recompute, window_mask, balance}) {
    QTest::mouseClick(grey, Qt::LeftButton, {}, QPoint(8, grey->height() / 2));
    EXPECT_FALSE(grey->isChecked()) << grey->text().toStdString();
  }
  EXPECT_TRUE(recompute->toolTip().contains("use --recompute"));
  EXPECT_TRUE(balance->toolTip().contains("use --mask full"));
  choice("Mask")->setCurrentText("window");
  EXPECT_TRUE(window_mask->isEnabled()) << window_mask->toolTip().toStdString();
  choice("Mask")->setCurrentText("full");
  EXPECT_TRUE(balance->isEnabled()) << balance->toolTip().toStdString();
  EXPECT_FALSE(button("Run")->isEnabled());
  QTest::mouseClick(balance, Qt::LeftButton, {}, QPoint(8, balance->height() / 2));
  EXPECT_TRUE(button("Run")->isEnabled()) << "the mistake is that nobody refuses it";
}

TEST_F(RunFormTest, ATickedMistakeThatWouldChangeNothingIsRefused) {
  auto* panel = window.findChild<RunPanel*>();
  RunConfig config = panel->config();
  config.mistakes = {"naive_sum_merge"};
  panel->setConfig(config);
  EXPECT_TRUE(button("Run")->isEnabled());
  config.cp = 1;
  config.balance = traces::Balance::kNone;
  panel->setConfig(config);
  EXPECT_FALSE(button("Run")->isEnabled());
  EXPECT_NE(status().indexOf("naive_sum_merge changes nothing on one rank; use a --cp above 1"), -1)
      << status().toStdString();
}

TEST_F(RunFormTest, ARunWhoseRowsCannotBeComparedIsNotVerified) {
  RunConfig config;
  EXPECT_TRUE(config.arguments().contains("--verify"));
  config.mistakes = {"cp_not_applied"};
  EXPECT_FALSE(config.arguments().contains("--verify"));
  EXPECT_TRUE(refusal(config, 4).isEmpty()) << refusal(config, 4).toStdString();
}

TEST_F(RunFormTest, AConfigurationWithAnUnknownMistakeIsRefused) {
  EXPECT_THROW(RunConfig::fromJson({{"mistakes", {"no_such_mistake"}}}, "a.json"), Error);
  EXPECT_THROW(RunConfig::fromJson({{"mistakes", {"naive_sum_merge:head=1"}}}, "a.json"), Error);
}

TEST_F(RunFormTest, SinksAreTickedWithTheMouse) {
  QCheckBox* sinks = nullptr;
  for (QCheckBox* box : window.findChildren<QCheckBox*>())
    if (box->accessibleName() == "Attention sinks") sinks = box;
  ASSERT_TRUE(sinks);
  auto* panel = window.findChild<RunPanel*>();
  EXPECT_FALSE(panel->config().arguments().contains("--sinks"));
  QTest::mouseClick(sinks, Qt::LeftButton, {}, QPoint(8, sinks->height() / 2));
  EXPECT_TRUE(panel->config().sinks);
  EXPECT_TRUE(panel->config().arguments().contains("--sinks"));
  EXPECT_TRUE(button("Run")->isEnabled());
  RunConfig without = panel->config();
  without.sinks = false;
  EXPECT_EQ(changes(without, panel->config()), "sinks: false → true");
}

TEST_F(RunFormTest, AKernelThatTheDeviceLacksIsGreySaysWhyAndIsNotChosen) {
  auto* kernel = choice("Kernel");
  const int efficient = kernel->findText("efficient");
  EXPECT_NE(kernel->itemData(efficient, Qt::ToolTipRole).toString().indexOf("--device cuda alone"),
            -1);
  kernel->showPopup();
  EXPECT_LT(contrastOf(kernel, "efficient"), contrastOf(kernel, "math") * 3 / 4);
  EXPECT_GT(contrastOf(kernel, "efficient"), 20);
  kernel->hidePopup();
  chooseByMouse(kernel, "efficient");
  EXPECT_EQ(kernel->currentText(), "auto");
  kernel->setFocus();
  for (const char* next : {"flash", "math"}) {  // the arrow key skips disabled lines
    QTest::keyClick(kernel, Qt::Key_Down);
    EXPECT_EQ(kernel->currentText(), next);
  }
}

TEST_F(RunFormTest, OffersHopOptionsForRingsOnlyAndExplainsWhy) {
  auto *strategy = choice("Strategy"), *hops = choice("Hops");
  const auto offered = [&] {
    return hops->model()->index(hops->findText("ordered"), 0).flags().testFlag(Qt::ItemIsEnabled);
  };
  EXPECT_TRUE(offered());
  chooseByMouse(hops, "ordered");
  chooseByMouse(strategy, "ulysses");
  EXPECT_FALSE(offered());
  EXPECT_NE(status().indexOf("use --strategy ring or hybrid"), -1);
  EXPECT_FALSE(button("Run")->isEnabled());
  chooseByMouse(hops, "batched");
  EXPECT_EQ(hops->currentText(), "batched");
  EXPECT_TRUE(button("Run")->isEnabled());
}

/// Returns a recording of events alone with `cp` ranks.
test::RingRun wideRun(int cp) {
  test::RingRun run;
  run.cp = cp;
  run.seq_len = 2 * std::int64_t{cp};
  run.steps = 1;
  run.layers = 1;
  run.keeps_tensors = false;
  return run;
}

TEST_F(RunFormTest, ARecordingOf64RanksIsShownAndRunWith64) {
  open(wideRun(64));
  auto* ranks = number("Ranks");
  EXPECT_EQ(ranks->text(), "64");
  EXPECT_TRUE(ranks->accessibleDescription().isEmpty());
  EXPECT_NE(window.findChild<RunPanel*>()->config().arguments().join(" ").indexOf("--cp 64"), -1);
  EXPECT_TRUE(button("Run again")->isEnabled()) << status().toStdString();
}

TEST_F(RunFormTest, ARecordingOf128RanksSaysWhyItIsNotRun) {
  open(wideRun(128));
  auto* ranks = number("Ranks");
  EXPECT_EQ(ranks->text(), "128");
  EXPECT_FALSE(button("Run again")->isEnabled());
  EXPECT_FALSE(button("What if")->isEnabled());
  EXPECT_NE(status().indexOf("the settings of this recording cannot be run from here: dp × tp × "
                             "cp = 128 ranks; one machine takes 64 at most"),
            -1)
      << status().toStdString();
  ranks->setFocus();
  ranks->selectAll();
  QTest::keyClicks(ranks, "4");
  QTest::keyClick(ranks, Qt::Key_Return);
  EXPECT_EQ(status().indexOf("cannot be run from here"), -1);
  EXPECT_TRUE(button("Run again")->isEnabled()) << status().toStdString();
  EXPECT_EQ(ranks->accessibleDescription(), "The run on show has 128.");
}

TEST_F(RunFormTest, StepsBeyondTheFormsOwnRangeAreShownAsTheyAre) {
  auto* panel = window.findChild<RunPanel*>();
  RunConfig config = panel->config();
  config.steps = 5000;
  config.dtype = traces::DType::kFloat16;
  config.tp = 16;
  panel->setConfig(config);
  EXPECT_EQ(panel->config().steps, 5000);
  EXPECT_EQ(panel->config().dtype, traces::DType::kFloat16);
  EXPECT_EQ(panel->config().tp, 16);
}

TEST_F(RunFormTest, TheFormSaysThatItsSettingsAreNotTheImportedJobs) {
  openFile(test::inSources("tests/reference/hand_recording"));
  const auto* run = window.session().trace().run();
  const QString words = status();
  EXPECT_NE(words.indexOf("On show: a job that was recorded elsewhere"), -1) << words.toStdString();
  EXPECT_NE(words.indexOf("not the job's: they are for a new run of the sample model"), -1);
  ASSERT_TRUE(run);
  EXPECT_NE(words.indexOf(QString("dp %1, tp %2, cp %3").arg(run->dp).arg(run->tp).arg(run->cp)),
            -1)
      << words.toStdString();
  EXPECT_FALSE(isMarked("Balance")) << "nothing is compared with the job's settings";
  open();
  EXPECT_EQ(status().indexOf("On show: a job"), -1);
}

TEST_F(RunFormTest, ASettingThatDiffersFromTheRunOnShowIsMarked) {
  open();
  auto *balance = choice("Balance"), *mask = choice("Mask");
  EXPECT_FALSE(isMarked("Balance"));
  chooseByMouse(balance, "striped");
  EXPECT_TRUE(isMarked("Balance"));
  EXPECT_FALSE(isMarked("Mask"));
  EXPECT_EQ(balance->toolTip(), "The run on show has head_tail.");
  EXPECT_EQ(balance->accessibleDescription(), "The run on show has head_tail.");
  EXPECT_TRUE(mask->accessibleDescription().isEmpty());
  auto* ranks = number("Ranks");
  ranks->setFocus();
  QTest::keyClick(ranks, Qt::Key_Down);
  EXPECT_TRUE(isMarked("dp, tp, cp"));
  EXPECT_NE(ranks->toolTip().indexOf("The run on show has 4."), -1);
  EXPECT_NE(ranks->toolTip().indexOf("Ranks that share a sequence"), -1);
  QTest::keyClick(ranks, Qt::Key_Up);
  chooseByMouse(balance, "head_tail");
  EXPECT_FALSE(isMarked("Balance"));
  EXPECT_FALSE(isMarked("dp, tp, cp"));
  EXPECT_TRUE(balance->toolTip().isEmpty());
}

}  // namespace
}  // namespace ringscope::viz
