// SPDX-License-Identifier: GPL-3.0-or-later
// The window with recordings and runs on another machine, which a command prefix stands for.
#include <QDir>
#include <QLineEdit>
#include <QSettings>

#include "tests/support/remote_machine.h"
#include "tests/support/ssh_server.h"
#include "tests/viz/window_fixture.h"
#include "viz/window/export_button.h"
#include "viz/window/problem_card.h"

namespace ringscope::viz {
namespace {

class RemoteWindowTest : public WindowTest {
 protected:
  /// A command prefix whose commands start in a folder of the test.
  QString prefix() {
    return QString::fromStdString(machine.script("cd '" + dir.file("") + "' && exec sh -c \"$1\""));
  }
  QLineEdit* runOn() {
    for (auto* box : window.findChildren<QLineEdit*>())
      if (box->accessibleName() == "Run on") return box;
    return nullptr;
  }
  /// Types a prefix into the form, and presses Run.
  void runBy(const QString& typed) {
    runOn()->setFocus();
    runOn()->selectAll();
    QTest::keyClicks(runOn(), typed);
    auto* run = button("Run") ? button("Run") : button("Run again");
    ASSERT_TRUE(run->isEnabled()) << status().toStdString();
    QTest::mouseClick(run, Qt::LeftButton);
  }
  void setSteps(int steps) {
    RunConfig config;
    config.steps = steps;
    config.seq_len = 64;
    config.cp = 2;
    window.findChild<RunPanel*>()->setConfig(config);
  }
  bool reaches(State state, int ms = 30000) {
    return QTest::qWaitFor([&] { return window.engine().state() == state; }, ms);
  }
  QStringList recorded() {
    return QDir(QString::fromStdString(dir.file("ringscope-runs"))).entryList({"*.rscope"});
  }

  test::RemoteMachine machine;
};

TEST_F(RemoteWindowTest, ARecordingOnAnotherMachineIsShownWithItsMachine) {
  const test::SetVariable ssh("RINGSCOPE_SSH",
                              machine.script("for last; do :; done; exec sh -c \"$last\""));
  openFile("ssh://gpu-box" + test::sampleRecording());
  EXPECT_FALSE(window.session().trace().moments().empty());
  EXPECT_FALSE(window.session().diagnosis()->findings().empty());
  EXPECT_TRUE(window.windowTitle().startsWith("missing_position_ids.rscope on gpu-box"));
  EXPECT_TRUE(status().contains("missing_position_ids.rscope on gpu-box · 1.6 MiB"));
  EXPECT_TRUE(window.findChild<ExportButton*>()->isEnabled());
}

TEST_F(RemoteWindowTest, ThePlaceOfTheWindowSaysWhyARecordingThereCannotBeOpened) {
  const test::SetVariable ssh(
      "RINGSCOPE_SSH", machine.script("echo 'Permission denied (publickey).' >&2; exit 255"));
  QSignalSpy opened(&window, &MainWindow::opened);
  window.openTrace("ssh://gpu-box/run.rscope");
  ASSERT_TRUE(opened.wait(10000));
  EXPECT_TRUE(opened.first().first().toString().startsWith("gpu-box cannot be reached"));
  EXPECT_TRUE(window.findChild<ProblemCard*>()->isVisible());
}

TEST_F(RemoteWindowTest, ARunOnAnotherMachineIsRecordedThereAndFollowed) {
  setSteps(2);
  runBy(prefix());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.engine().active(); }, 5000));
  ASSERT_TRUE(reaches(State::kIdle, 60000));
  ASSERT_EQ(recorded().size(), 1) << status().toStdString();
  EXPECT_FALSE(window.session().trace().moments().empty());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 20000));
  EXPECT_TRUE(window.session().diagnosis()->findings().empty());
  EXPECT_TRUE(window.windowTitle().contains(recorded().front() + " on "))
      << window.windowTitle().toStdString();
  const auto there =
      traces::openTrace(dir.file("ringscope-runs/") + recorded().front().toStdString());
  EXPECT_EQ(window.session().trace().eventCount(), there->eventCount());
  EXPECT_TRUE(there->end().has_value());
}

TEST_F(RemoteWindowTest, ARunOnAnotherMachinePausesStepsAndStops) {
  setSteps(1000);
  runBy(prefix());
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return window.session().trace().moments().size() > 20; }, 30000))
      << status().toStdString();
  QTest::mouseClick(button("Pause"), Qt::LeftButton);
  ASSERT_TRUE(reaches(State::kPaused));
  const auto moments = window.session().trace().moments().size();
  for (int i = 0; i < 6; ++i) {
    QTest::mouseClick(button("Ring step"), Qt::LeftButton);
    ASSERT_TRUE(reaches(State::kPaused));
  }
  EXPECT_GT(window.session().trace().moments().size(), moments);
  QTest::mouseClick(button("Stop"), Qt::LeftButton);
  ASSERT_TRUE(reaches(State::kIdle, 10000));
  EXPECT_EQ(recorded().size(), 1);
}

TEST_F(RemoteWindowTest, ARunOverSshIsFollowedAndOpenedAgain) {
  if (!test::SshServer::isInstalled()) GTEST_SKIP() << "openssh-server is not installed";
  const test::SshServer server(dir.file(""));
  ASSERT_TRUE(server.listens()) << server.log();
  setSteps(2);
  window.findChild<RunPanel*>()->setRunOn(QString::fromStdString(server.prefix()));
  QTest::mouseClick(button("Run"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.engine().active(); }, 5000));
  ASSERT_TRUE(reaches(State::kIdle, 60000));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 20000))
      << status().toStdString();
  EXPECT_FALSE(window.session().trace().moments().empty());
  ASSERT_EQ(recorded().size(), 1);
  const test::SetVariable ssh("RINGSCOPE_SSH", server.client());
  openFile(server.address("/~/ringscope-runs/" + recorded().front().toStdString()));
  EXPECT_TRUE(window.windowTitle().contains(".rscope on 127.0.0.1"));
}

TEST_F(RemoteWindowTest, SaysWhyARunOnAnotherMachineDoesNotStart) {
  runBy(QString::fromStdString(machine.script("exit 127")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return status().contains("set RINGSCOPE_REMOTE"); }, 10000))
      << status().toStdString();
  EXPECT_EQ(window.engine().state(), State::kIdle);
}

TEST_F(RemoteWindowTest, APrefixWithAnOpenQuoteIsRefusedBeforeAnythingStarts) {
  runOn()->setFocus();
  QTest::keyClicks(runOn(), "ssh 'gpu");
  EXPECT_FALSE(button("Run")->isEnabled());
  EXPECT_TRUE(status().contains("is not closed"));
}

TEST_F(RemoteWindowTest, TheNextWindowKeepsThePrefix) {
  QSettings settings(QString::fromStdString(dir.file("kept.ini")), QSettings::IniFormat);
  runOn()->setFocus();
  QTest::keyClicks(runOn(), "ssh -p 2222 gpu-box");
  window.saveSettings(settings);
  MainWindow next(test::kProgram);
  next.restoreSettings(settings);
  EXPECT_EQ(next.findChild<RunPanel*>()->config().run_on, "ssh -p 2222 gpu-box");
}

}  // namespace
}  // namespace ringscope::viz
