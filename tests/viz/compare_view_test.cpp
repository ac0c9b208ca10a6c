// SPDX-License-Identifier: GPL-3.0-or-later
// The compare view in the window, used by mouse and keys.
#include <QDropEvent>
#include <QMimeData>
#include <fstream>

#include "tests/viz/compare_fixture.h"

namespace ringscope::viz {
namespace {

TEST_F(CompareViewTest, SaysWhatItIsForAndOpensASecondRecording) {
  EXPECT_TRUE(said().startsWith("Another recording of the same model"));
  answerDialog(recorded({}));
  press("Open a second recording …");
  ASSERT_TRUE(isDone());
  QTest::qWait(20);
  EXPECT_TRUE(said().contains("First: step 0, buffer.position_ids")) << said().toStdString();
  press("Close");
  EXPECT_TRUE(said().startsWith("Another recording")) << "and nothing else is lost";
  EXPECT_FALSE(window.session().trace().moments().empty());
}

TEST_F(CompareViewTest, AFileThatIsDroppedHereIsTheSecondOne) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(recorded({})))});
  QDragEnterEvent enter(QPoint(50, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(view, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(50, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(view, &drop);
  EXPECT_TRUE(isDone());
  EXPECT_EQ(window.session().name(), "run-0.rscope");
}

TEST_F(CompareViewTest, AClickOnARowMovesTheMomentThere) {
  compare();
  window.navigator().setPlace(test::backwardAt(0, 2));
  clickRow("layer 1 · forward");
  EXPECT_EQ(window.navigator().cursor().place, test::forwardAt(1, 0));
  clickRow("layer 1 · forward", 10);
  turned = {"layer 1 · forward"};
  clickRow("k");
  EXPECT_EQ(window.navigator().cursor().tensor, "k");
  EXPECT_EQ(window.navigator().cursor().place, test::forwardAt(1, 0));
  EXPECT_TRUE(status().contains("layer 1 › forward, k is bit for bit the same"))
      << status().toStdString();
}

TEST_F(CompareViewTest, KeysChooseRowsOpenPlacesAndGoToTheNextDifference) {
  compare();
  view->setFocus();
  QTest::keyClick(view, Qt::Key_Down);
  EXPECT_TRUE(said().startsWith("inputs: ")) << said().toStdString();
  QTest::keyClick(view, Qt::Key_Return);
  QTest::keyClick(view, Qt::Key_Down);
  EXPECT_TRUE(said().startsWith("layer 0 · forward: ")) << "the inputs are closed";
  QTest::keyClick(view, Qt::Key_Up);
  QTest::keyClick(view, Qt::Key_N);
  EXPECT_TRUE(said().startsWith("≠ step 0, buffer.position_ids differs")) << "and open again";
  window.navigator().setPlace(test::placeAt(1, 1, traces::Direction::kForward, 0));
  QTest::keyClick(view, Qt::Key_Up);
  EXPECT_EQ(window.navigator().cursor().place.train_step, 1) << "rows are those of the viewed step";
}

TEST_F(CompareViewTest, ShowsTheDoctorsFindingsOnTheSecondRun) {
  test::RingRun wrong;
  wrong.restarts_positions = true;
  compare(wrong);
  const std::string words = painted();
  EXPECT_NE(words.find("DOCTOR ON B BY ITSELF"), std::string::npos);
  EXPECT_NE(words.find("▲ Position ids restart on every rank."), std::string::npos) << words;
}

TEST_F(CompareViewTest, TheVerdictLeadsToTheFirstDifference) {
  compare();
  window.navigator().setPlace(test::placeAt(1, 1, traces::Direction::kForward, 0));
  click({60, cardsHead() + 14});
  EXPECT_EQ(window.navigator().cursor().place.train_step, 0);
  EXPECT_EQ(window.navigator().cursor().tensor, "buffer.position_ids");
}

TEST_F(CompareViewTest, ARecordingOfAnEqualRunSaysByHowMuchTheyDiffer) {
  test::RingRun unverified;
  unverified.verified = false;
  open(unverified);
  window.showView("compare");
  test::RingRun other = test::contiguous();
  other.verified = false;
  compare(other);
  EXPECT_TRUE(said().contains("cannot be judged")) << said().toStdString();
  const std::string again = dir.file("again.rscope");
  test::recordFile({}, again);
  answerDialog(again);
  view->setFocus();
  QTest::keyClick(view, Qt::Key_E);
  ASSERT_EQ(comparison().floor().toStdString(), again);
  ASSERT_TRUE(isDone());
  EXPECT_TRUE(comparison().runs()->comparison.has_floor);
  QTest::qWait(20);
  EXPECT_FALSE(said().contains("cannot be judged")) << said().toStdString();
}

TEST_F(CompareViewTest, BothAreShownInEveryViewAtTheSamePlaceUntilEscape) {
  compare(test::contiguous());
  view->setFocus();
  QTest::keyClick(view, Qt::Key_B);
  const auto shown = [&] {
    const auto stages = window.findChildren<Stage*>();
    return std::ranges::count_if(stages, &QWidget::isVisible);
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown() == 2; }, 10000));
  EXPECT_TRUE(status().contains("A against B · balance: \"head_tail\" against \"none\""))
      << status().toStdString();
  const auto pictures = [&] {
    QTest::qWait(30);
    std::vector<QImage> all;
    for (auto* stage : window.findChildren<Stage*>()) all.push_back(stage->grab().toImage());
    return all;
  };
  const auto before = pictures();
  window.navigator().setPlace(test::backwardAt(1, 2));
  const auto after = pictures();
  EXPECT_NE(after[0], before[0]);
  EXPECT_NE(after[1], before[1]) << "it moves along";
  window.showView("compare");
  EXPECT_EQ(shown(), 1) << "it has both already";
  window.showView("ring");
  EXPECT_EQ(shown(), 2);
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_EQ(shown(), 1);
  EXPECT_EQ(comparison().state(), Comparison::State::kDone) << "it is still compared with";
}

TEST_F(CompareViewTest, ReportsAnUnreadableSecondFileAndLosesNothing) {
  const std::string path = dir.file("bad.rscope");
  std::ofstream(path) << "no recording";
  window.compareWith(QString::fromStdString(path), {});
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return comparison().state() == Comparison::State::kFailed; }, 10000));
  EXPECT_TRUE(said().contains("bad.rscope is not a RingScope trace")) << said().toStdString();
  EXPECT_FALSE(window.session().trace().moments().empty());
  compare();
  EXPECT_TRUE(said().contains("comparisons differ"));
}

TEST_F(CompareViewTest, AnotherFirstRecordingIsComparedAnew) {
  compare();
  open();
  ASSERT_TRUE(isDone());
  EXPECT_TRUE(QTest::qWaitFor([&] { return said().contains("agree bit for bit"); }, 20000))
      << said().toStdString();
}

TEST_F(CompareViewTest, AClosedComparisonDoesNotComeBack) {
  window.compareWith(QString::fromStdString(recorded(test::gathering())), {});
  EXPECT_EQ(comparison().state(), Comparison::State::kComparing);
  press("Cancel");
  EXPECT_EQ(comparison().state(), Comparison::State::kNone);
  QTest::qWait(300);
  EXPECT_EQ(comparison().runs(), nullptr);
  EXPECT_TRUE(said().startsWith("Another recording"));
}

TEST_F(CompareViewTest, TheWheelMovesTheRowsUnderTheCards) {
  compare();
  window.resize(1280, 720);
  QTest::qWait(20);
  const auto cards = [&] {
    return view->grab().toImage().copy(0, 0, view->QWidget::width() - 12, int(cardsHead()) - 8);
  };
  const QImage before = cards(), all = view->grab().toImage();
  QTest::keyClick(view, Qt::Key_PageDown);
  EXPECT_NE(view->grab().toImage(), all);
  EXPECT_EQ(cards(), before) << "the cards stay in sight";
}

}  // namespace
}  // namespace ringscope::viz
