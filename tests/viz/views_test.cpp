// SPDX-License-Identifier: GPL-3.0-or-later
// Every view over recordings: its drawing, its text when something is not recorded, and its keys
// and clicks.
#include <QCheckBox>
#include <QListView>
#include <filesystem>

#include "tests/support/places.h"
#include "tests/viz/indexed_trace.h"
#include "tests/viz/ring_runs.h"
#include "tests/viz/window_fixture.h"
#include "traces/format/core/prose.h"
#include "viz/views/memory/memory_painter.h"
#include "viz/views/tensor/tensor_list.h"
#include "viz/views/tensor/tensor_painter.h"

namespace ringscope::viz {
namespace {

class ViewsTest : public WindowTest {
 protected:
  View* show(const QString& name) {
    window.showView(name);
    QTest::qWait(20);
    auto* stage = window.findChild<Stage*>();
    return qobject_cast<View*>(stage->currentWidget());
  }
  void sendKey(QWidget* to, Qt::Key key) {
    QTest::keyClick(to, key);
    QTest::qWait(10);
  }
};

TEST_F(ViewsTest, EveryViewDrawsEveryKindOfRun) {
  for (const auto& [name, run] : test::allKindsOfRuns()) {
    open(run);
    for (const ViewEntry& entry : viewRegistry()) {
      View* view = show(entry.name);
      EXPECT_GT(distinctColors(view->grab().toImage()), 12)
          << entry.name.toStdString() << " of " << name;
      EXPECT_FALSE(view->accessibleName().isEmpty()) << entry.name.toStdString();
    }
  }
}

TEST_F(ViewsTest, EveryViewReportsMissingDataThatItNeeds) {
  test::RingRun events_only;
  events_only.keeps_tensors = false;
  open(events_only);
  for (const char* name : {"positions", "merge", "diff", "tensor"}) {
    const QString sentence = show(name)->accessibleDescription();
    EXPECT_TRUE(sentence.contains("ecorded") && sentence.contains("would show"))
        << name << ": " << sentence.toStdString();
  }
  const auto* findings = show("doctor")->findChild<QListView*>();
  const auto text_at = [&](int row) {
    return findings->model()->index(row, 0).data(Qt::AccessibleTextRole).toString();
  };
  EXPECT_TRUE(text_at(0).contains("more check")) << text_at(0).toStdString();
  EXPECT_TRUE(text_at(1).contains("Not recorded. This needs")) << text_at(1).toStdString();
}

TEST_F(ViewsTest, AFindingLeadsToItsPlaceAndAltLeftComesBack) {
  open(restartingPositions());
  View* doctor = show("doctor");
  auto* list = doctor->findChild<QListView*>();
  list->setFocus();
  const Place before = window.navigator().cursor().place;
  sendKey(list, Qt::Key_Return);
  auto* stage = window.findChild<Stage*>();
  EXPECT_EQ(stage->shown(), "positions");
  QTest::keyClick(&window, Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(stage->shown(), "doctor");
  EXPECT_EQ(window.navigator().cursor().place, before);
}

TEST_F(ViewsTest, SpaceInNowAndInPresenterModeGoesOnByOneRingStep) {
  open();
  window.navigator().setMoment(0, 0);
  View* now = show("now");
  sendKey(now, Qt::Key_Space);
  EXPECT_EQ(window.navigator().moment(), 1);
  EXPECT_FALSE(window.player().playing());
  QTest::keyClick(&window, Qt::Key_F11);
  View* ring = show("ring");
  sendKey(ring, Qt::Key_Space);
  EXPECT_EQ(window.navigator().moment(), 2);
  EXPECT_GT(distinctColors(ring->grab().toImage()), 20);
  QTest::keyClick(&window, Qt::Key_Escape);
  sendKey(ring, Qt::Key_Space);
  EXPECT_TRUE(window.player().playing());
}

TEST_F(ViewsTest, WithoutMotionPlayingGoesFromRingStepToRingStep) {
  open();
  window.navigator().setMoment(0, 0);
  QTest::keyClick(&window, Qt::Key_M);
  EXPECT_TRUE(window.player().reducedMotion());
  window.player().setSpeed(8);
  window.player().setPlaying(true);
  for (int i = 0; i < 10; ++i) {
    QTest::qWait(20);
    EXPECT_EQ(window.navigator().cursor().phase, 1) << "nothing is ever between two steps";
  }
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.navigator().moment() >= 2; }, 5000));
}

TEST_F(ViewsTest, ArrowsPickACellOfTheTensorAndTheRangeFollowsItsHandle) {
  open();
  window.navigator().setMoment(0, 0);
  window.navigator().selectTensor("q");
  View* view = show("tensor");
  const QImage before = view->grab().toImage();
  view->setFocus();
  sendKey(view, Qt::Key_Down);
  sendKey(view, Qt::Key_Right);
  EXPECT_NE(view->grab().toImage(), before) << "the picked cell moves";
  EXPECT_EQ(window.navigator().moment(), 0) << "and the cursor of the run does not";
  sendKey(view, Qt::Key_BracketRight);
  const QImage other_head = view->grab().toImage();
  EXPECT_NE(other_head, before);
  const double left = view->findChild<TensorList*>()->geometry().right() + 17;
  const TensorAreas areas = tensorAreas(
      QRectF(left, 64, view->QWidget::width() - left - 8, view->QWidget::height() - 68));
  const QPoint from = areas.range.center().toPoint();
  QTest::mousePress(view, Qt::LeftButton, {}, from);
  QTest::mouseMove(view, from + QPoint(60, 0));
  QTest::mouseRelease(view, Qt::LeftButton, {}, from + QPoint(60, 0));
  const QImage other_range = view->grab().toImage();
  EXPECT_NE(other_range, other_head) << "another range has other colours";
  window.player().setSpeed(2);
  EXPECT_EQ(view->grab().toImage(), other_range) << "which stays whatever else is set";
  sendKey(view, Qt::Key_A);
  EXPECT_EQ(view->grab().toImage(), other_head) << "auto-fit brings them back";
}

TEST_F(ViewsTest, AMissingTensorStaysChosenWhileTheFirstIsShown) {
  open();
  window.navigator().selectTensor("out");
  window.navigator().setPlace(test::backwardAt(1, 1));
  View* view = show("tensor");
  auto* table = view->findChild<QTableView*>();
  EXPECT_EQ(table->currentIndex().row(), 0);
  EXPECT_GT(distinctColors(view->grab().toImage()), 100) << "its values are drawn";
  EXPECT_EQ(window.navigator().cursor().tensor, "out");
  auto* filter = view->findChild<QLineEdit*>();
  QTest::keyClicks(filter, "nothing");
  QTest::qWait(20);
  EXPECT_EQ(table->model()->rowCount(), 0);
  EXPECT_TRUE(view->accessibleDescription().contains("nothing"));
  filter->clear();
  window.navigator().setPlace(test::forwardAt(1, 3));
  QTest::qWait(20);
  EXPECT_EQ(table->currentIndex().data().toString().left(3), "out");
}

TEST_F(ViewsTest, ANarrowListKeepsNamesAndDropsWhatHasNoRoom) {
  open();
  window.navigator().setMoment(0, 0);
  View* view = show("tensor");
  auto* table = view->findChild<QTableView*>();
  for (const int width : {1280, 1920, 3840}) {
    window.resize(width, width * 9 / 16);
    QTest::qWait(30);
    int used = 0;
    for (int c = 0; c < TensorListModel::kColumns; ++c)
      if (!table->isColumnHidden(c)) used += table->columnWidth(c);
    EXPECT_LE(used, table->viewport()->width()) << width;
    EXPECT_GE(table->columnWidth(TensorListModel::kName), 110) << width;
    EXPECT_FALSE(table->isColumnHidden(TensorListModel::kShape)) << width;
    EXPECT_TRUE(table->isColumnHidden(TensorListModel::kMarks)) << "all values are finite";
  }
}

TEST_F(ViewsTest, ADotAfterTheNamesOfTensorsIsExplainedWhereSomeHaveIt) {
  open();  // the values of step 0 are kept
  show("tensor");
  const auto is_explained = [&] {
    for (const auto* label : window.findChildren<QLabel*>())
      if (label->text() == "· hash and statistics only, no values") return label->isVisible();
    return false;
  };
  const auto dots = [&] {
    const auto* model = window.findChild<TensorList*>()->findChild<QTableView*>()->model();
    int rows = 0;
    for (int row = 0; row < model->rowCount(); ++row)
      rows += model->index(row, 0).data().toString().endsWith(" ·");
    return rows;
  };
  for (const int step : {0, 1}) {
    window.navigator().setPlace(test::placeAt(step, 0, traces::Direction::kForward, 0));
    QTest::qWait(50);
    EXPECT_EQ(dots() > 0, step == 1);
    EXPECT_EQ(is_explained(), step == 1);
  }
}

TEST_F(ViewsTest, UChangesTheUnitOfTheErrorMap) {
  open();
  View* view = show("diff");
  const QImage limit = view->grab().toImage();
  QImage last = limit;
  for (const char* unit : {"absolute", "relative", "ULP"}) {
    sendKey(view, Qt::Key_U);
    EXPECT_NE(view->grab().toImage(), last) << unit;
    last = view->grab().toImage();
  }
  sendKey(view, Qt::Key_U);
  EXPECT_EQ(view->grab().toImage(), limit);
}

TEST_F(ViewsTest, AClickOnAnErrorChoosesItsTensorAndLayer) {
  open();
  View* view = show("diff");
  QTest::mouseClick(view, Qt::LeftButton, {}, QPoint(110, 100));
  EXPECT_EQ(window.navigator().cursor().tensor, "out");
  EXPECT_EQ(window.navigator().cursor().place.layer, Layer::of(1));
}

TEST_F(ViewsTest, AClickOnTheMemoryChartGoesToThatMoment) {
  open();
  window.navigator().setMoment(0, 0);
  View* view = show("memory");
  QTest::qWait(50);
  const QRectF plot = memoryAreas(view->rect()).over_time;
  QTest::mouseClick(view, Qt::LeftButton, {},
                    QPointF(plot.left() + plot.width() * 0.9, plot.center().y()).toPoint());
  EXPECT_GT(window.navigator().moment(), 8);
}

TEST_F(ViewsTest, DownGoesAlongTheTokensOfThePositions) {
  open();
  window.resize(1280, 720);
  View* view = show("positions");
  const QImage before = view->grab().toImage();
  sendKey(view, Qt::Key_Down);
  EXPECT_NE(view->grab().toImage(), before);
  sendKey(view, Qt::Key_Up);
  EXPECT_EQ(view->grab().toImage(), before);
}

TEST_F(ViewsTest, AFolderHasTheSizeOfItsRecordingsFiles) {
  const std::string folder = test::inSources("tests/reference/hand_recording");
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  openFile(folder);
  const std::string size = traces::describeBytes(static_cast<std::int64_t>(bytes));
  EXPECT_TRUE(status().contains(QString::fromStdString("hand_recording · " + size)))
      << size << " in " << status().toStdString();
}

TEST_F(ViewsTest, PositionsSayTheirBuffersToAScreenReader) {
  open(restartingPositions());
  const QString words = show("positions")->accessibleDescription();
  for (const char* said : {"Rank 0, step 0.", "Position ids per rank: ▲ ",
                           "input_ids: sharded: ", "position_ids: ▲ not sharded: "})
    EXPECT_TRUE(words.contains(said)) << said << ": " << words.toStdString();
}

TEST_F(ViewsTest, OnlyRevealShowsTheInjectedMistake) {
  test::RingRun naive;
  naive.naive_sum = true;
  open(naive, R"({"mistakes": ["naive_sum_merge"]})");
  const auto ticked = [&] {
    QStringList words;
    for (auto* box : window.findChildren<QCheckBox*>())
      if (box->isChecked() && box->isVisibleTo(&window)) words << box->text();
    return words.join(", ");
  };
  EXPECT_EQ(ticked(), "Keep what this run had");
  EXPECT_EQ(status().indexOf("Injected"), -1);
  open({}, R"({"mistakes": []})");
  EXPECT_EQ(ticked(), "Keep what this run had") << "whatever that is";
  open(naive, R"({"mistakes": ["naive_sum_merge"]})");
  QTest::mouseClick(button("Reveal"), Qt::LeftButton);
  EXPECT_NE(status().indexOf("▲ Injected: Block outputs are added without LSE weights"), -1)
      << status().toStdString();
}

TEST_F(ViewsTest, ControlAndANumberShowTheViewsInTheOrderOfTheirTabs) {
  auto* stage = window.findChild<Stage*>();
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size() && i < 9; ++i) {
    QTest::keyClick(&window, static_cast<Qt::Key>(Qt::Key_1 + i), Qt::ControlModifier);
    EXPECT_EQ(stage->shown(), entries[i].name);
  }
}

}  // namespace
}  // namespace ringscope::viz
