// SPDX-License-Identifier: GPL-3.0-or-later
#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>

#include "tests/support/places.h"
#include "tests/viz/window_fixture.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/views/inspector/inspector_view.h"
#include "viz/views/pass/pass_painter.h"
#include "viz/views/ring/ring_layout.h"
#include "viz/window/mistakes_box.h"

namespace ringscope::viz {
namespace {

TEST_F(WindowTest, KeysMoveTheMomentAndChooseRanks) {
  open();
  Navigator& at = window.navigator();
  at.setMoment(0, 0);
  QTest::keyClick(&window, Qt::Key_Right);
  QTest::keyClick(&window, Qt::Key_Right);
  EXPECT_EQ(at.cursor().place.stage, RingStep::of(2));
  QTest::keyClick(&window, Qt::Key_Left);
  EXPECT_EQ(at.cursor().place.stage, RingStep::of(1));
  QTest::keyClick(&window, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_EQ(at.cursor().place.train_step, 1);
  QTest::keyClick(&window, Qt::Key_End);
  EXPECT_EQ(at.moment() + 1, static_cast<int>(window.session().trace().moments().size()));
  QTest::keyClick(&window, Qt::Key_Home);
  EXPECT_EQ(at.moment(), 0);
  QTest::keyClick(&window, Qt::Key_3);
  EXPECT_EQ(at.cursor().rank, WorldRank::of(2));
  QTest::keyClick(&window, Qt::Key_T);
  EXPECT_EQ(at.cursor().axis, Axis::kTime);
  QTest::keyClick(&window, Qt::Key_Plus);
  EXPECT_EQ(window.player().speed(), 2);
}

TEST_F(WindowTest, AnImportedJobCannotBeRunAgainFromHere) {
  openFile(test::inSources("tests/reference/hand_recording"));
  EXPECT_EQ(button("Run again"), nullptr);
  ASSERT_TRUE(button("Run") && button("What if"));
  EXPECT_FALSE(button("What if")->isEnabled());
  EXPECT_TRUE(status().contains("recorded elsewhere"));
  const QString before = window.session().name();
  QTest::keyClick(&window, Qt::Key_F6);
  EXPECT_EQ(window.session().name(), before);
  open();
  EXPECT_EQ(button("Run"), nullptr);
  EXPECT_TRUE(button("What if")->isEnabled());
  EXPECT_FALSE(status().contains("recorded elsewhere"));
}

TEST_F(WindowTest, TheFormKeepsItsOwnSettingsBesideAnImportedJob) {
  const RunConfig before = window.findChild<RunPanel*>()->config();
  openFile(test::inSources("tests/reference/hand_recording"));
  EXPECT_EQ(window.findChild<RunPanel*>()->config().arguments(), before.arguments());
}

TEST_F(WindowTest, SpacePlaysOnTheAnimationClock) {
  open();
  window.navigator().setMoment(0, 0);
  window.player().setSpeed(8);
  QTest::keyClick(&window, Qt::Key_Space);
  EXPECT_TRUE(window.player().playing());
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.navigator().moment() >= 2; }, 5000));
  QTest::keyClick(&window, Qt::Key_Space);
  const int held = window.navigator().moment();
  QTest::qWait(100);
  EXPECT_EQ(window.navigator().moment(), held);
}

TEST_F(WindowTest, AClickOnACardAndOnTheTimelineSelects) {
  open();
  window.navigator().setMoment(0, 0);
  auto* ring = window.findChild<QStackedWidget*>()->currentWidget();
  const RingLayout layout(QRectF(0, 0, ring->width(), ring->height() - 126), 4);
  QTest::mouseClick(ring, Qt::LeftButton, {}, layout.card(GroupRank::of(1)).center().toPoint());
  EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(1));
  // The middle of the longest ring step of rank 3; the shortest may be narrower than a pixel.
  auto* timeline = window.findChild<TimelineStrip*>();
  const PassScene scene = timeline->scene();
  const auto& stages = scene.lanes.at(3).stages;
  const auto longest = std::max_element(stages.begin(), stages.end(),
                                        [](auto& a, auto& b) { return a.length() < b.length(); });
  const double x = passScale(timeline->rect(), scene).x(longest->at(0.5));
  QTest::mouseClick(timeline, Qt::LeftButton, {},
                    QPoint(static_cast<int>(x), timeline->height() - 12));
  EXPECT_EQ(window.navigator().cursor().rank, WorldRank::of(3));
  EXPECT_EQ(window.navigator().cursor().place.stage, RingStep::of(longest - stages.begin()));
  EXPECT_EQ(window.navigator().cursor().place.layer, scene.pass.layer);
}

TEST_F(WindowTest, AnotherFileIsShownByTheTimelineToo) {
  open();
  auto* timeline = window.findChild<TimelineStrip*>();
  const PassScene first = timeline->scene();
  const QImage before = timeline->grab().toImage();
  test::RingRun fewer;
  fewer.cp = 2;
  open(fewer);
  window.navigator().setMoment(0, 0);
  EXPECT_EQ(timeline->scene().pass, first.pass);
  EXPECT_NE(timeline->scene(), first) << "another run has other ranks";
  EXPECT_NE(timeline->grab().toImage(), before);
}

TEST_F(WindowTest, AMistakeIsShownInStatusAndDoctor) {
  open(restartingPositions());
  EXPECT_NE(status().indexOf("1 finding"), -1) << status().toStdString();
  EXPECT_NE(status().indexOf("▲ worst"), -1) << status().toStdString();
}

TEST_F(WindowTest, ThePanelOffersWhatTheCatalogueSaysCanBeInjected) {
  const auto* panel = window.findChild<MistakesBox*>();
  ASSERT_NE(panel, nullptr);
  QStringList offered, injectable;
  for (const auto* box : panel->findChildren<QCheckBox*>())
    if (box->property("id").isValid()) offered << box->text();
  for (const auto& mistake : traces::mistakeCatalogue())
    if (mistake.injectable) injectable << QString::fromStdString(mistake.label);
  EXPECT_EQ(offered, injectable);
  EXPECT_FALSE(offered.isEmpty());
}

TEST_F(WindowTest, LabelsShowStringsFromRecordingsAsPlainText) {
  open();
  for (const ViewEntry& entry : viewRegistry()) window.showView(entry.name);
  for (const QLabel* label : window.findChildren<QLabel*>())
    EXPECT_EQ(label->textFormat(), Qt::PlainText) << label->text().toStdString();
}

TEST_F(WindowTest, AFileThatIsNoTraceIsASentenceAndTheWindowGoesOn) {
  QSignalSpy opened(&window, &MainWindow::opened);
  window.openTrace(QString::fromStdString(test::sampleText()));
  ASSERT_TRUE(opened.wait(5000));
  EXPECT_NE(opened.first().first().toString().indexOf("not a RingScope trace"), -1);
  open();
  EXPECT_FALSE(window.session().trace().moments().empty());
}

TEST_F(WindowTest, RejectsSettingsThatCannotWorkWithTheReason) {
  for (auto* box : window.findChildren<QComboBox*>())
    if (box->accessibleName() == "Mask") box->setCurrentText("full");
  EXPECT_NE(status().indexOf("use --balance none"), -1);
  EXPECT_FALSE(button("Run")->isEnabled());
}

TEST_F(WindowTest, F5WithInvalidSettingsKeepsTheOpenRecording) {
  open();
  const auto moments = window.session().trace().moments().size();
  ASSERT_GT(moments, 0u);
  for (auto* box : window.findChildren<QComboBox*>())
    if (box->accessibleName() == "Mask") box->setCurrentText("full");
  QTest::keyClick(&window, Qt::Key_F5);
  EXPECT_EQ(window.engine().state(), State::kIdle);
  EXPECT_EQ(window.session().trace().moments().size(), moments);
  EXPECT_NE(status().indexOf("use --balance none"), -1);
}

TEST_F(WindowTest, EveryControlIsReachedByTabAndHasAName) {
  open();
  QSet<QWidget*> reached;
  for (int i = 0; i < 160; ++i) {
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &window,
                    Qt::Key_Tab);
    if (auto* w = QApplication::focusWidget()) reached << w;
  }
  int controls = 0;
  for (auto* w : window.findChildren<QWidget*>()) {
    const bool control =
        qobject_cast<QAbstractButton*>(w) || qobject_cast<QComboBox*>(w) || qobject_cast<View*>(w);
    if (!control || !w->isVisible() || !w->isEnabled()) continue;
    ++controls;
    auto* b = qobject_cast<QAbstractButton*>(w);
    EXPECT_FALSE(w->accessibleName().isEmpty() && !(b && !b->text().isEmpty()))
        << w->metaObject()->className();
    EXPECT_TRUE(reached.contains(w))
        << w->metaObject()->className() << " "
        << (b ? b->text().toStdString() : w->accessibleName().toStdString());
  }
  EXPECT_GT(controls, 15);
}

TEST_F(WindowTest, BordersMoveByDraggingAndADoubleClickBringsThemBack) {
  open();
  auto* panes = window.findChild<Panes*>();
  auto* columns = panes->findChild<QSplitter*>();
  const QList<int> before = columns->sizes(), rows_before = panes->sizes();
  auto drag = [](QSplitterHandle* handle, const QPoint& by) {
    const QPoint from = handle->rect().center();
    QTest::mousePress(handle, Qt::LeftButton, {}, from);
    QTest::mouseMove(handle, from + by);
    QTest::mouseRelease(handle, Qt::LeftButton, {}, from + by);
  };
  drag(columns->handle(1), {120, 0});
  drag(panes->handle(1), {0, -80});
  EXPECT_NEAR(columns->sizes()[0], before[0] + 120, 3);
  EXPECT_NEAR(columns->sizes()[2], before[2], 3) << "the stage gives the room";
  EXPECT_NEAR(panes->sizes()[1], rows_before[1] + 80, 3);
  window.resize(window.width() + 200, window.height());
  EXPECT_NEAR(columns->sizes()[0], before[0] + 120, 3) << "what was moved by hand stays";
  window.resize(window.width() - 200, window.height());
  QTest::mouseDClick(columns->handle(1), Qt::LeftButton);
  EXPECT_EQ(columns->sizes(), before);
  EXPECT_EQ(panes->sizes(), rows_before);
}

TEST_F(WindowTest, F3AndF4HideThePanelsAlsoOverPresenterMode) {
  open();
  const int stage = window.findChild<Stage*>()->width();
  QTest::keyClick(&window, Qt::Key_F3);
  QTest::keyClick(&window, Qt::Key_F4);
  EXPECT_FALSE(window.findChild<RunPanel*>()->isVisible());
  EXPECT_FALSE(window.findChild<Inspector*>()->isVisible());
  EXPECT_GT(window.findChild<Stage*>()->width(), stage + 500);
  const QList<int> rows = window.findChild<Panes*>()->sizes();
  QTest::keyClick(&window, Qt::Key_F11);
  EXPECT_LT(window.findChild<Panes*>()->sizes()[1], rows[1]) << "controls without the timeline";
  QTest::qWait(50);
  QTest::keyClick(&window, Qt::Key_F11);
  EXPECT_FALSE(window.findChild<RunPanel*>()->isVisible()) << "hidden before, hidden after";
  EXPECT_TRUE(window.findChild<TimelineStrip*>()->isVisible());
  QTest::keyClick(&window, Qt::Key_F3);
  QTest::keyClick(&window, Qt::Key_F4);
  EXPECT_TRUE(window.findChild<RunPanel*>()->isVisible());
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return std::abs(window.findChild<Stage*>()->width() - stage) <= 3; }, 1000))
      << window.findChild<Stage*>()->width() << " of " << window.width() << " instead of " << stage;
}

TEST_F(WindowTest, TheLayoutOfOneWindowIsThatOfTheNext) {
  const QString file = QString::fromStdString(dir.file("layout.ini"));
  QTest::keyClick(&window, Qt::Key_F4);
  auto* columns = window.findChild<Panes*>()->findChild<QSplitter*>();
  QTest::mousePress(columns->handle(1), Qt::LeftButton, {}, {0, 50});
  QTest::mouseMove(columns->handle(1), {90, 50});
  QTest::mouseRelease(columns->handle(1), Qt::LeftButton, {}, {90, 50});
  {
    QSettings settings(file, QSettings::IniFormat);
    window.saveSettings(settings);
  }
  MainWindow next("");
  next.restoreSettings(QSettings(file, QSettings::IniFormat));
  next.show();
  EXPECT_TRUE(QTest::qWaitForWindowExposed(&next));
  EXPECT_FALSE(next.findChild<Inspector*>()->isVisible());
  EXPECT_NEAR(next.findChild<Panes*>()->findChild<QSplitter*>()->sizes()[0], columns->sizes()[0],
              3);
  MainWindow fresh("");
  QSettings nonsense(QString::fromStdString(dir.file("broken.ini")), QSettings::IniFormat);
  nonsense.setValue("panes/moved", true);
  nonsense.setValue("panes/rows", QByteArray("not a state"));
  fresh.restoreSettings(nonsense);
  fresh.show();
  EXPECT_TRUE(fresh.findChild<RunPanel*>()->isVisible());
}

}  // namespace
}  // namespace ringscope::viz
