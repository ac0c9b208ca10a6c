// SPDX-License-Identifier: GPL-3.0-or-later
// The window follows a job that sends its recording over a real socket.
#include <QDir>
#include <QToolButton>
#include <filesystem>

#include "tests/support/live_client.h"
#include "tests/support/places.h"
#include "tests/viz/legible.h"
#include "tests/viz/window_fixture.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"
#include "viz/views/ring/ring_painter.h"
#include "viz/window/job_bar.h"

namespace ringscope::viz {
namespace {

using test::LiveClient;

const std::string kRecording = test::inSources("tests/reference/recording");

class JobWindowTest : public WindowTest {
 protected:
  JobWindowTest() { window.listen({dir.file("socket"), "", dir.file("job"), {}}); }

  std::string recordingOf(int rank) const {
    return traces::readFile(kRecording + "/rank-0000" + std::to_string(rank) + ".jsonl");
  }
  /// Returns a rank that is connected and has sent the first lines of the recording.
  LiveClient begun(int rank, bool pauses = false) {
    LiveClient client(dir.file("socket"));
    client.line(LiveClient::hello(rank, 2, "", pauses));
    EXPECT_EQ(client.hear(), R"({"line":"welcome"})");
    const std::string all = recordingOf(rank);
    client.send(std::string_view(all).substr(0, half(all)));
    return client;
  }
  void finish(LiveClient& client, int rank) {
    const std::string all = recordingOf(rank), stem = "rank-0000" + std::to_string(rank);
    client.send(std::string_view(all).substr(half(all)));
    client.send(LiveClient::values(kRecording, stem + ".values-0000.safetensors"));
    client.line(R"({"line":"bye"})");
    client.close();
  }
  bool comes(const std::function<bool()>& met) { return QTest::qWaitFor(met, 15000); }
  bool says(const QString& words) {
    return comes([&] { return status().contains(words); });
  }
  QToolButton* jobButton(const QString& text) {
    for (auto* one : window.findChild<JobBar*>()->findChildren<QToolButton*>())
      if (one->text() == text && one->isVisible()) return one;
    return nullptr;
  }

 private:
  static std::size_t half(const std::string& all) { return all.find('\n', all.size() / 2) + 1; }
};

TEST_F(JobWindowTest, SaysHowAJobIsStartedUntilOneComes) {
  EXPECT_TRUE(status().contains("RINGSCOPE_LIVE=" + QString::fromStdString(dir.file("socket"))));
}

TEST_F(JobWindowTest, ShowsAJobWhileItRunsAndAllOfItAtTheEnd) {
  LiveClient a = begun(0), b = begun(1);
  ASSERT_TRUE(says("job of 2 ranks · 2 connected"));
  EXPECT_FALSE(status().contains("a run is starting")) << "it is no run of this window's engine";
  ASSERT_TRUE(comes([&] { return !window.session().trace().tensors().empty(); }));
  EXPECT_TRUE(window.session().live());
  const std::size_t so_far = window.session().trace().tensors().size();
  finish(a, 0);
  finish(b, 1);
  ASSERT_TRUE(comes([&] { return !window.session().live(); }));
  const auto whole = traces::openTrace(kRecording);
  EXPECT_LT(so_far, whole->tensors().size());
  EXPECT_EQ(window.session().trace().tensors().size(), whole->tensors().size());
  EXPECT_EQ(window.session().trace().moments().size(), whole->moments().size());
  EXPECT_TRUE(window.session().diagnosis().has_value());
  EXPECT_TRUE(says("the job has ended"));
}

TEST_F(JobWindowTest, AJobIsKeptWhenTheNextWindowListens) {
  QString folder;
  {
    MainWindow first("");
    first.listen({dir.file("first"), "", "", {}});
    LiveClient client(dir.file("first"));
    client.line(LiveClient::hello(0, 1, "", false));
    ASSERT_EQ(client.hear(), R"({"line":"welcome"})");
    ASSERT_TRUE(comes([&] { return first.job().job().number == 1; }));
    folder = QString::fromStdString(first.job().job().folder);
  }
  ASSERT_TRUE(folder.startsWith(runsFolder() + "/")) << folder.toStdString();
  ASSERT_FALSE(QDir(folder).isEmpty());
  MainWindow next("");
  next.listen({dir.file("next"), "", "", {}});
  next.removeOldRuns();
  EXPECT_FALSE(QDir(folder).isEmpty());
  EXPECT_TRUE(RunFolder(runsFolder()).isOwn(folder));
}

TEST_F(JobWindowTest, TheCursorStaysWhereItIsWhileMoreComes) {
  LiveClient a = begun(0), b = begun(1);
  ASSERT_TRUE(comes([&] { return window.session().trace().moments().size() > 2; }));
  window.player().setFollowing(false);
  window.navigator().setMoment(1, 0);
  QTest::keyClick(&window, Qt::Key_2);
  finish(a, 0);
  finish(b, 1);
  ASSERT_TRUE(comes([&] { return !window.session().live(); }));
  EXPECT_EQ(window.navigator().moment(), 1);
  EXPECT_EQ(window.navigator().cursor().rank, traces::WorldRank::of(1));
}

TEST_F(JobWindowTest, F8HoldsAllRanksAtOneBorderAndLetsThemGoOn) {
  LiveClient a = begun(0, true), b = begun(1, true);
  ASSERT_TRUE(comes([&] { return jobButton("Pause") && jobButton("Pause")->isEnabled(); }));
  QTest::keyClick(&window, Qt::Key_F8);
  for (LiveClient* rank : {&a, &b}) EXPECT_EQ(rank->hear(), R"({"line":"hold"})");
  for (LiveClient* rank : {&a, &b}) rank->line(R"({"line":"held","step":4})");
  for (LiveClient* rank : {&a, &b}) {
    std::string heard = rank->hear();
    while (heard == R"({"line":"still"})") heard = rank->hear();
    EXPECT_EQ(heard, R"({"line":"pause","step":4})");
    rank->line(R"({"line":"paused","step":4})");
  }
  ASSERT_TRUE(says("held after training step 4"));
  ASSERT_TRUE(jobButton("Continue"));
  QTest::mouseClick(jobButton("Continue"), Qt::LeftButton);
  std::string heard = a.hear();
  while (heard == R"({"line":"still"})") heard = a.hear();
  EXPECT_EQ(heard, R"({"line":"go"})");
}

TEST_F(JobWindowTest, AJobThatCannotBeHeldSaysWhy) {
  LiveClient a = begun(0), b = begun(1);
  ASSERT_TRUE(says("2 connected"));
  ASSERT_TRUE(comes([&] { return jobButton("Pause") && !jobButton("Pause")->isEnabled(); }));
  EXPECT_FALSE(jobButton("Pause")->toolTip().isEmpty());
}

/// Makes one rank wait in a collective that the other rank has not reached.
void hang(LiveClient& a, LiveClient& b) {
  const std::string of_group = R"("groups":{"0":[0,1]},"posted":[{"group":"0","nth":)";
  a.line(
      R"({"line":"stands","step":3,"quiet_ns":12000000000,)"
      R"("in":{"operator":"all_reduce","group":"0","nth":17,"bytes":8192,"since_ns":12000000000},)" +
      of_group + R"(17,"last":[[17,"all_reduce",8192]]}]})");
  b.line(R"({"line":"stands","step":3,"quiet_ns":12000000000,)"
         R"("at":{"file":"train.py","number":41,"function":"load"},)" +
         of_group + R"(16,"last":[[16,"all_reduce",8192]]}]})");
}

TEST_F(JobWindowTest, ReportsWhichRanksWaitForWhichInAHang) {
  LiveClient a = begun(0), b = begun(1);
  hang(a, b);
  ASSERT_TRUE(says("rank 1 has not come there"));
  EXPECT_TRUE(says("all_reduce 17"));
  EXPECT_TRUE(says("train.py:41 (load)"));
}

TEST_F(JobWindowTest, TheWordsOfAHangLeaveTheRingItsRoomAndAreLegible) {
  window.resize(1280, 720);
  LiveClient a = begun(0), b = begun(1);
  ASSERT_TRUE(comes([&] { return !window.session().trace().moments().empty(); }));
  hang(a, b);
  ASSERT_TRUE(says("rank 1 has not come there"));
  QTest::qWait(50);
  const QWidget* ring = window.findChild<Stage*>()->currentWidget();
  const auto scene = window.session().ring(window.navigator().cursor());
  ASSERT_EQ(scene->ranks.size(), 2u);
  EXPECT_GE(ringAreas(QRectF(ring->rect()), *scene).ring.height(), 300);
  test::Drawn picture(window.size());
  window.render(&picture);
  EXPECT_EQ(test::illegible(picture), std::vector<std::string>());
}

TEST_F(JobWindowTest, ReportsAnUnreadableRecordingAtTheEndOfTheJob) {
  LiveClient a = begun(0), b = begun(1);
  ASSERT_TRUE(comes([&] { return !window.session().trace().tensors().empty(); }));
  std::filesystem::remove_all(dir.file("job"));
  for (LiveClient* rank : {&a, &b}) {
    rank->line(R"({"line":"embedding"})");
    rank->close();
  }
  ASSERT_TRUE(comes([&] { return !window.session().live(); }));
  EXPECT_TRUE(says("▲ " + QString::fromStdString(dir.file("job")))) << status().toStdString();
  EXPECT_FALSE(window.session().trace().tensors().empty()) << "what was read stays";
}

/// A link without a window.
class JobLinkTest : public testing::Test {
 protected:
  JobLinkTest() { link_.listen({dir_.file("socket"), "", dir_.file("job"), {}}); }

  /// Returns the only rank of a job, which has sent its header and `lines` more lines.
  LiveClient job(int lines) {
    LiveClient client(dir_.file("socket"));
    client.line(LiveClient::hello(0, 1));
    EXPECT_EQ(client.hear(), R"({"line":"welcome"})");
    client.line(LiveClient::header(0, 1));
    for (int i = 0; i < lines; ++i) client.line(R"({"line":"embedding"})");
    return client;
  }
  bool comes(const std::function<bool()>& met) { return QTest::qWaitFor(met, 15000); }

  test::TempDir dir_;
  JobLink link_;
};

TEST_F(JobLinkTest, AProblemOfTheLastReadingEndsWithTheNextJob) {
  EXPECT_EQ(link_.problem(), "");
  LiveClient first = job(1);
  ASSERT_TRUE(comes([&] { return link_.trace() != nullptr; }));
  EXPECT_EQ(link_.problem(), "") << "a recording that grows is no problem";
  const auto read = link_.trace();
  std::filesystem::remove_all(link_.job().folder);
  first.line(R"({"line":"embedding"})");
  ASSERT_TRUE(comes([&] { return !link_.problem().isEmpty(); }));
  EXPECT_TRUE(link_.problem().contains(QString::fromStdString(link_.job().folder)))
      << link_.problem().toStdString();
  EXPECT_EQ(link_.trace(), read) << "what was read stays";
  QSignalSpy ended(&link_, &JobLink::jobEnded);
  first.close();
  ASSERT_TRUE(comes([&] { return !ended.isEmpty(); }));
  EXPECT_FALSE(link_.problem().isEmpty()) << "who asks at the end is told";
  QSignalSpy began(&link_, &JobLink::jobBegan);
  LiveClient second = job(1);
  ASSERT_TRUE(comes([&] { return !began.isEmpty() && link_.trace(); }));
  EXPECT_EQ(link_.problem(), "");
}

TEST_F(JobWindowTest, AnotherRecordingMayBeLookedAtMeanwhileAndTheJobBeShownAgain) {
  LiveClient a = begun(0), b = begun(1);
  ASSERT_TRUE(comes([&] { return !window.session().trace().tensors().empty(); }));
  EXPECT_EQ(jobButton("Show job"), nullptr);
  openFile(test::inSources("tests/reference/hand_recording"));
  EXPECT_EQ(window.session().name(), "hand_recording");
  ASSERT_TRUE(jobButton("Show job"));
  QTest::mouseClick(jobButton("Show job"), Qt::LeftButton);
  EXPECT_EQ(window.session().name(), "job");
  EXPECT_TRUE(window.session().live());
}

}  // namespace
}  // namespace ringscope::viz
