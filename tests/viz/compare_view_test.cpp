// SPDX-License-Identifier: GPL-3.0-or-later
// The compare view in the window, by mouse and keys.
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QTimer>
#include <fstream>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/ring_runs.h"
#include "tests/viz/window_fixture.h"
#include "viz/paint/compare_cards.h"
#include "viz/paint/compare_painter.h"

namespace ringscope::viz {
namespace {

class CompareViewTest : public WindowTest {
 protected:
  CompareViewTest() {
    window.resize(1280, 1400);
    open(restartingPositions());
    window.showView("compare");
    view = qobject_cast<View*>(window.findChild<Stage*>()->currentWidget());
  }
  std::string recorded(const test::RingRun& run) {
    const std::string path = dir.file("other.rscope");
    test::recordFile(run, path);
    return path;
  }
  Comparison& comparison() { return window.viewing().comparison; }
  bool isDone() {
    return QTest::qWaitFor([&] { return comparison().state() == Comparison::State::kDone; }, 20000);
  }
  void compare(const test::RingRun& run = {}) {
    window.compareWith(QString::fromStdString(recorded(run)), {});
    ASSERT_TRUE(isDone());
    QTest::qWait(20);
  }
  CompareScene scene() {
    return makeCompareScene(*comparison().runs(), false, window.navigator().place().train_step,
                            turned);
  }
  std::size_t rowOf(const std::string& name) {
    const auto places = scene().places;
    return static_cast<std::size_t>(std::ranges::find(places, name, &PlaceRow::name) -
                                    places.begin());
  }
  QRectF page() {
    const double height = compareHeight(view->QWidget::width(), scene());
    return {0, 0, double(view->QWidget::width()),
            std::max(height, double(view->QWidget::height()))};
  }
  void click(const QPointF& point) {
    QTest::mouseClick(view, Qt::LeftButton, {}, point.toPoint());
    QTest::qWait(10);
  }
  void clickRow(const std::string& name, double from_left = 200) {
    const QRectF box = compareRow(page(), scene(), rowOf(name));
    ASSERT_LT(box.bottom(), view->QWidget::height()) << "it is in sight";
    click({box.left() + from_left, box.center().y()});
  }
  void press(const QString& text) {
    for (auto* b : view->findChildren<QPushButton*>())
      if (b->text() == text && b->isVisible()) return QTest::mouseClick(b, Qt::LeftButton);
    ADD_FAILURE() << "no button " << text.toStdString();
  }
  /// The next file dialog is answered with this file.
  void answerDialog(const std::string& path) {
    QTimer::singleShot(0, &window, [path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      dialog->findChild<QLineEdit*>()->setText(QString::fromStdString(path));
      QMetaObject::invokeMethod(dialog, "accept");
    });
  }
  QString said() const { return view->accessibleDescription(); }

  View* view = nullptr;
  std::set<std::string> turned;
};

TEST_F(CompareViewTest, SaysWhatItIsForAndOpensASecondRecording) {
  EXPECT_TRUE(said().startsWith("Another recording of the same model"));
  answerDialog(recorded({}));
  press("Open a second recording …");
  ASSERT_TRUE(isDone());
  QTest::qWait(20);
  EXPECT_TRUE(said().contains("First: step 0, buffer.position_ids")) << said().toStdString();
  press("Close");
  EXPECT_TRUE(said().startsWith("Another recording")) << "and nothing else is lost";
  EXPECT_FALSE(window.session().empty());
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
  EXPECT_EQ(window.navigator().place(), test::forwardAt(1, 0));
  clickRow("layer 1 · forward", 10);
  turned = {"layer 1 · forward"};
  clickRow("k");
  EXPECT_EQ(window.navigator().tensor(), "k");
  EXPECT_EQ(window.navigator().place(), test::forwardAt(1, 0));
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
  EXPECT_EQ(window.navigator().place().train_step, 1) << "rows are those of the viewed step";
}

TEST_F(CompareViewTest, TheVerdictLeadsToTheFirstDifference) {
  compare();
  window.navigator().setPlace(test::placeAt(1, 1, traces::Direction::kForward, 0));
  click({60, CompareCards(view->QWidget::width(), scene()).head + 14});
  EXPECT_EQ(window.navigator().place().train_step, 0);
  EXPECT_EQ(window.navigator().tensor(), "buffer.position_ids");
}

TEST_F(CompareViewTest, ARecordingOfAnEqualRunSaysByHowMuchTheyDiffer) {
  compare();
  EXPECT_TRUE(said().contains("How much of this is rounding")) << said().toStdString();
  const std::string again = dir.file("again.rscope");
  test::recordFile({}, again);
  answerDialog(again);
  view->setFocus();
  QTest::keyClick(view, Qt::Key_E);
  ASSERT_EQ(comparison().floor().toStdString(), again);
  ASSERT_TRUE(isDone());
  EXPECT_TRUE(comparison().runs()->comparison.has_floor);
  QTest::qWait(20);
  EXPECT_FALSE(said().contains("How much of this is rounding")) << said().toStdString();
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

TEST_F(CompareViewTest, ASecondFileThatCannotBeReadIsSaidAndNothingIsLost) {
  const std::string path = dir.file("bad.rscope");
  std::ofstream(path) << "no recording";
  window.compareWith(QString::fromStdString(path), {});
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return comparison().state() == Comparison::State::kFailed; }, 10000));
  EXPECT_TRUE(said().contains("bad.rscope is not a RingScope trace")) << said().toStdString();
  EXPECT_FALSE(window.session().empty());
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

TEST_F(CompareViewTest, WhatIsClosedBeforeItIsDoneStaysAway) {
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
    return view->grab().toImage().copy(0, 0, view->QWidget::width() - 12,
                                       int(CompareCards(view->QWidget::width(), scene()).head) - 8);
  };
  const QImage before = cards(), all = view->grab().toImage();
  QTest::keyClick(view, Qt::Key_PageDown);
  EXPECT_NE(view->grab().toImage(), all);
  EXPECT_EQ(cards(), before) << "the cards stay in sight";
}

}  // namespace
}  // namespace ringscope::viz
