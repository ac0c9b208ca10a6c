// SPDX-License-Identifier: GPL-3.0-or-later
// The start page: three doors with pictures, by mouse and by keys.
#include <QClipboard>
#include <QLineEdit>

#include "tests/viz/legible.h"
#include "tests/viz/start_page_fixture.h"
#include "viz/window/mistakes_dialog.h"

namespace ringscope::viz {
namespace {

TEST_F(StartPageTest, ReplacesTheViewsUntilSomethingIsOpened) {
  EXPECT_TRUE(start().isVisible());
  EXPECT_FALSE(window.page().stage()->isVisible());
  open();
  EXPECT_FALSE(start().isVisible());
  EXPECT_TRUE(window.page().stage()->isVisible());
}

TEST_F(StartPageTest, EveryDoorHasANameASentenceAndAPicture) {
  QStringList names;
  for (const auto* door : start().findChildren<QFrame*>("door")) {
    names << door->accessibleName();
    EXPECT_FALSE(door->accessibleDescription().isEmpty());
    const QImage image = start().grab(door->geometry()).toImage();
    EXPECT_GT(distinctColors(image), 100) << door->accessibleName().toStdString();
  }
  EXPECT_EQ(names, QStringList({"Explore", "Debug", "Teach"}));
}

TEST_F(StartPageTest, IsLegibleInEveryTheme) {
  for (const Theme& theme : Theme::all()) {
    window.setTheme(theme);
    ASSERT_TRUE(QTest::qWaitFor([&] { return start().isDrawn(); }, 10000));
    test::Drawn picture(window.size());
    window.render(&picture);
    for (const std::string& sentence : test::illegible(picture))
      ADD_FAILURE() << theme.name.toStdString() << ": " << sentence;
  }
  EXPECT_EQ(window.size(), QSize(1280, 720));
}

TEST_F(StartPageTest, TabReachesEveryControlAndEachHasAName) {
  QSet<QWidget*> reached;
  for (int i = 0; i < 30; ++i) {
    reached << QApplication::focusWidget();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  for (auto* control : start().findChildren<QWidget*>()) {
    const auto* press = qobject_cast<QAbstractButton*>(control);
    const bool is_field =
        control->focusPolicy() == Qt::WheelFocus || control->objectName() == "line";
    if ((!press && !is_field) || !control->isEnabled() || !control->isVisible()) continue;
    EXPECT_TRUE(reached.contains(control)) << control->metaObject()->className();
    EXPECT_FALSE((press ? press->text() : control->accessibleName()).isEmpty())
        << control->metaObject()->className();
  }
}

TEST_F(StartPageTest, TheSampleRecordingOpensWithItsMistake) {
  QTest::mouseClick(tool("Open a run with a known mistake"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 20000));
  ASSERT_EQ(window.session().diagnosis()->findings().size(), 1u);
  EXPECT_EQ(window.session().diagnosis()->findings().front().rule, "missing_position_ids");
}

TEST_F(StartPageTest, TheLineForAJobIsCopiedAndNamesTheAddressThatListens) {
  QTest::mouseClick(tool("Copy"), Qt::LeftButton);
  EXPECT_EQ(QApplication::clipboard()->text(), "python -m ringscope train.py");
  QTest::mouseClick(tool("Listen to my job"), Qt::LeftButton);
  QTest::mouseClick(tool("Copy"), Qt::LeftButton);
  const QString line = QApplication::clipboard()->text();
  EXPECT_TRUE(line.startsWith("RINGSCOPE_LIVE=")) << line.toStdString();
  EXPECT_TRUE(line.endsWith(" python -m ringscope train.py")) << line.toStdString();
  EXPECT_TRUE(window.job().listening());
}

TEST_F(StartPageTest, TheRunOfAMistakeHasWhatItNeeds) {
  for (const char* id : {"documents_ignored", "same_batch_on_dp_ranks", "mask_dropped"})
    EXPECT_EQ(reasonAgainst(id, runWithMistake(id)), "") << id;
}

TEST(StartPageWithoutAnEngine, OffersTheSampleRecordingAndNoQuiz) {
  MainWindow window("");
  window.page().showStart(true);
  window.show();
  const auto named = [&](const QString& text) {
    for (auto* b : window.page().start()->findChildren<QPushButton*>())
      if (b->text() == text) return b;
    return static_cast<QPushButton*>(nullptr);
  };
  ASSERT_NE(named("Open the sample recording"), nullptr);
  ASSERT_NE(named("Start a quiz"), nullptr);
  EXPECT_FALSE(named("Start a quiz")->isEnabled());
  EXPECT_TRUE(named("Start a quiz")->toolTip().contains("engine"));
  QTest::mouseClick(named("Open the sample recording"), Qt::LeftButton);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window.session().trace().moments().empty(); }, 20000));
}

}  // namespace
}  // namespace ringscope::viz
