// SPDX-License-Identifier: GPL-3.0-or-later
// The window's message about a file that cannot be opened, its title, and the settings that the
// next window keeps.
#include <QSettings>
#include <QToolButton>

#include "tests/viz/window_fixture.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::viz {
namespace {

class KeptSettingsTest : public WindowTest {
 protected:
  void fail(const QString& path) {
    QSignalSpy opened(&window, &MainWindow::opened);
    window.openTrace(path);
    ASSERT_TRUE(opened.wait(10000));
    ASSERT_NE(opened.first().first().toString(), "");
  }
  QString cardText() {
    QString text;
    for (auto* label : window.findChild<ProblemCard*>()->findChildren<QLabel*>())
      text += label->text() + "\n";
    return text.remove(QChar(0x200b));
  }
  QSettings settings() {
    return QSettings(QString::fromStdString(dir.file("kept.ini")), QSettings::IniFormat);
  }
};

TEST_F(KeptSettingsTest, ReportsAMissingFileInTheMiddleOfTheWindow) {
  fail("nosuch.rscope");
  auto* card = window.findChild<ProblemCard*>();
  ASSERT_TRUE(card->isVisible());
  const auto* stage = window.findChild<Stage*>();
  const QPoint middle = stage->mapTo(&window, stage->rect().center());
  QWidget* there = window.childAt(middle);
  while (there && there != card) there = there->parentWidget();
  EXPECT_EQ(there, card) << "nothing covers it";
  const QString text = cardText();
  EXPECT_TRUE(text.contains("nosuch.rscope cannot be opened")) << text.toStdString();
  EXPECT_TRUE(text.contains(QDir::currentPath() + "/nosuch.rscope: no such file"))
      << text.toStdString();
  EXPECT_TRUE(text.contains("Check the name; open another recording (Ctrl+O)"));
  EXPECT_EQ(window.windowTitle(), "nosuch.rscope · cannot be opened — RingScope");
}

TEST_F(KeptSettingsTest, TheMessageGoesWhenARecordingIsOpened) {
  fail("nosuch.rscope");
  open();
  EXPECT_FALSE(window.findChild<ProblemCard*>()->isVisible());
  EXPECT_EQ(window.windowTitle(), "run-0.rscope — RingScope");
}

TEST_F(KeptSettingsTest, AFileThatIsNoRecordingLeavesWhatIsOnShow) {
  open();
  const auto moments = window.session().trace().moments().size();
  fail(QString::fromStdString(test::sampleText()));
  EXPECT_TRUE(window.findChild<ProblemCard*>()->isVisible());
  EXPECT_TRUE(cardText().contains("is not a RingScope trace")) << cardText().toStdString();
  EXPECT_EQ(window.session().trace().moments().size(), moments);
  EXPECT_EQ(window.windowTitle(), "run-0.rscope — RingScope");
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_FALSE(window.findChild<ProblemCard*>()->isVisible());
}

TEST_F(KeptSettingsTest, TheCardStaysInTheMiddleOfASmallWindow) {
  fail("/no/such/" + QString(120, 'x') + "/" + QString(120, 'y') + ".rscope");
  window.resize(window.minimumSize());
  QTest::qWait(50);
  const auto* card = window.findChild<ProblemCard*>();
  EXPECT_TRUE(card->parentWidget()->rect().contains(card->geometry()));
  EXPECT_NEAR(card->geometry().center().x(), card->parentWidget()->rect().center().x(), 1);
}

TEST_F(KeptSettingsTest, TheTitleNamesBothRecordingsThatAreCompared) {
  test::recordFile({}, dir.file("other.rscope"), "");
  open();
  window.compareWith(QString::fromStdString(dir.file("other.rscope")), {});
  QTest::qWait(20);
  EXPECT_EQ(window.windowTitle(), "run-0.rscope · against other.rscope — RingScope");
}

TEST_F(KeptSettingsTest, TheTitleTakesNoPartOfANameForAPlaceholder) {
  test::recordFile({}, dir.file("a[*]b\nc.rscope"), "");
  openFile(dir.file("a[*]b\nc.rscope"));
  EXPECT_FALSE(window.windowTitle().contains('\n'));
  EXPECT_TRUE(window.windowTitle().startsWith("a[*][*]b")) << window.windowTitle().toStdString();
}

TEST_F(KeptSettingsTest, TheThemeThatWasChosenIsThatOfTheNextWindow) {
  QSettings kept = settings();
  window.saveSettings(kept);
  EXPECT_FALSE(kept.contains("window/theme")) << "nobody has chosen one";
  QSignalSpy changed(&window, &MainWindow::settingsChanged);
  QTest::keyClick(&window, Qt::Key_T, Qt::ControlModifier);
  EXPECT_EQ(changed.size(), 1) << "it is kept at once, also by a window that is killed";
  window.saveSettings(kept);
  EXPECT_EQ(kept.value("window/theme").toString(), Theme::all()[1].name);
  MainWindow next("");
  next.restoreSettings(kept);
  EXPECT_EQ(next.styleSheet(), window.styleSheet());
  MainWindow fresh("");
  EXPECT_NE(fresh.styleSheet(), window.styleSheet());
}

TEST_F(KeptSettingsTest, AThemeOfTheCommandLineIsNotRemembered) {
  QSettings kept = settings();
  window.setTheme(Theme::named("light"));
  window.saveSettings(kept);
  EXPECT_FALSE(kept.contains("window/theme"));
}

TEST_F(KeptSettingsTest, SettingsThatMakeNoSenseAreDefaults) {
  QSettings kept = settings();
  kept.setValue("window/theme", "purple");
  kept.setValue("runs/most_bytes", "many");
  MainWindow next("");
  const QString before = next.styleSheet();
  next.restoreSettings(kept);
  EXPECT_EQ(next.styleSheet(), before);
  EXPECT_EQ(next.findChild<RunsButton*>()->limit(), RunsButton::kDefaultLimit);
}

TEST_F(KeptSettingsTest, TheLimitOfTheRunsIsThatOfTheNextWindow) {
  QSettings kept = settings();
  window.findChild<RunsButton*>()->setLimit(1 << 30);
  window.saveSettings(kept);
  MainWindow next("");
  next.restoreSettings(kept);
  EXPECT_EQ(next.findChild<RunsButton*>()->limit(), 1 << 30);
}

}  // namespace
}  // namespace ringscope::viz
