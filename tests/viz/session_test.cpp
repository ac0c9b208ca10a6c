// SPDX-License-Identifier: GPL-3.0-or-later
// The data, the cursor and the clock, without a window.
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "tests/support/files.h"
#include "tests/support/place_at.h"
#include "tests/viz/small_run.h"
#include "viz/session/viewing.h"
#include "viz/views/doctor/doctor_scene.h"
#include "viz/views/query/query_scene.h"

namespace ringscope::viz {
namespace {

using traces::Direction;

TEST(SessionTest, AnotherTraceHasAnotherGenerationAndNothingOfTheOldOne) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 2, 1), "first", false);
  viewing.navigator.setMoment(1, 0.5);
  const int generation = viewing.session.generation();
  const auto first = viewing.session.ring(viewing.navigator.cursor());
  viewing.session.setDiagnosis({});
  viewing.session.open(test::smallRun(1, 4, 2), "second", false);
  EXPECT_NE(viewing.session.generation(), generation);
  EXPECT_FALSE(viewing.session.diagnosis());
  EXPECT_EQ(viewing.navigator.moment(), 0);
  EXPECT_EQ(viewing.navigator.cursor().phase, 0);
  EXPECT_EQ(viewing.session.ring(viewing.navigator.cursor())->ranks.size(), 4u);
  EXPECT_EQ(first->ranks.size(), 2u) << "a finished value stays as it was";
}

TEST(SessionTest, ASceneIsMadeOnceForACursorWhateverItsPhase) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 4, 1), "run", false);
  const auto scene = viewing.session.ring(viewing.navigator.cursor());
  viewing.navigator.setMoment(0, 0.7);
  EXPECT_EQ(viewing.session.ring(viewing.navigator.cursor()), scene);
  viewing.navigator.setMoment(1, 0.7);
  EXPECT_NE(viewing.session.ring(viewing.navigator.cursor()), scene);
  viewing.navigator.setAxis(Axis::kTime);
  const auto at_time = viewing.session.ring(viewing.navigator.cursor());
  viewing.navigator.setMoment(1, 0.2);
  EXPECT_NE(viewing.session.ring(viewing.navigator.cursor()), at_time)
      << "on the time axis the phase moves the other ranks";
}

TEST(SessionTest, ASceneAskedForBeforePublishHasEveryRankThatTheTraceHas) {
  Viewing viewing;
  const auto trace = std::make_shared<traces::Trace>();
  traces::GroupRecord group;
  group.axis = traces::GroupAxis::kCp;
  for (int rank = 0; rank < 4; ++rank) group.members.push_back(WorldRank::of(rank));
  trace->add(group);
  viewing.session.open(trace, "live", true);
  EXPECT_TRUE(viewing.session.ring(viewing.navigator.cursor())->ranks.empty());
  EXPECT_EQ(viewing.session.ring(viewing.navigator.cursor())->note,
            "The run is starting; its first ring step appears here.");
  viewing.session.addChunk(test::makeChunk(test::eventsOfStep(0, 4, 1)));
  EXPECT_EQ(viewing.session.ring(viewing.navigator.cursor())->ranks.size(), 4u);
}

TEST(SessionTest, GrowingDataKeepsTheViewedPlaceAndFollowingGoesWithTheHead) {
  Viewing viewing;
  viewing.session.open(std::make_shared<traces::Trace>(), "live", true);
  viewing.session.addChunk(test::makeChunk(test::eventsOfStep(1, 2, 1)));
  viewing.session.publish();
  viewing.navigator.setMoment(1, 0);
  const Place viewed = viewing.navigator.cursor().place;
  viewing.session.addChunk(test::makeChunk(test::eventsOfStep(0, 2, 1)));
  viewing.session.publish();
  EXPECT_EQ(viewing.navigator.cursor().place, viewed) << "earlier places have come";
  EXPECT_EQ(viewing.navigator.moment(), 5);
  viewing.player.setFollowing(true);
  viewing.session.addChunk(test::makeChunk(test::eventsOfStep(2, 2, 1)));
  viewing.session.publish();
  EXPECT_EQ(viewing.navigator.cursor().place, viewing.session.trace().moments().back());
  viewing.navigator.move(-1);
  EXPECT_FALSE(viewing.player.following()) << "a user has taken the cursor";
}

TEST(NavigatorTest, MovesStopAtBothEndsAndGoBackToTheBeginningOfAStepFirst) {
  Viewing viewing;
  viewing.session.open(test::smallRun(2, 4, 1), "run", false);
  Navigator& navigator = viewing.navigator;
  navigator.move(-1);
  EXPECT_EQ(navigator.moment(), 0);
  navigator.move(3);
  EXPECT_EQ(navigator.moment(), 3);
  navigator.moveTrainStep(1);
  EXPECT_EQ(navigator.cursor().place, test::placeAt(1, 0, Direction::kForward, 3));
  navigator.move(100000);
  EXPECT_EQ(navigator.moment() + 1, static_cast<int>(viewing.session.trace().moments().size()));
  navigator.setMoment(2, 0.5);
  navigator.move(-1);
  EXPECT_EQ(navigator.moment(), 2);
  EXPECT_EQ(navigator.cursor().phase, 0);
}

TEST(NavigatorTest, AnnouncesAChangeOnceAndNoChangeNever) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 4, 1), "run", false);
  QSignalSpy changed(&viewing.navigator, &Navigator::cursorChanged);
  Cursor to = viewing.navigator.cursor();
  to.rank = WorldRank::of(3);
  to.place.stage = RingStep::of(2);
  to.phase = 0.25;
  viewing.navigator.setCursor(to);
  EXPECT_EQ(changed.count(), 1);
  EXPECT_EQ(viewing.navigator.cursor(), to);
  viewing.navigator.setCursor(to);
  EXPECT_EQ(changed.count(), 1);
}

TEST(NavigatorTest, AnImpossiblePlaceBecomesTheNearestPossibleOne) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 2, 1), "run", false);
  Cursor to;
  to.place = test::placeAt(7, 7, Direction::kBackward, 7);
  to.phase = 3;
  to.rank = WorldRank::of(9);
  viewing.navigator.setCursor(to);
  EXPECT_EQ(viewing.navigator.cursor().place, viewing.session.trace().moments().back());
  EXPECT_EQ(viewing.navigator.cursor().phase, 1);
  EXPECT_EQ(viewing.navigator.cursor().rank, WorldRank::of(0));
  viewing.navigator.selectRank(WorldRank::of(9));
  EXPECT_EQ(viewing.navigator.cursor().rank, WorldRank::of(0));
}

TEST(NavigatorTest, AnotherGroupIsShownInTheSameSeatAndItsScenesHaveItsRanks) {
  const auto trace = test::smallRun(1, 4, 1);
  for (const int group : {0, 1}) {
    traces::GroupRecord record;
    record.id = traces::GroupId::of(group);
    record.axis = traces::GroupAxis::kCp;
    record.members = {traces::WorldRank::of(group), traces::WorldRank::of(group + 2)};
    trace->add(record);
  }
  Viewing viewing;
  viewing.session.open(trace, "mesh", false);
  viewing.navigator.selectRank(WorldRank::of(2));
  viewing.navigator.setGroup(1);
  EXPECT_EQ(viewing.navigator.cursor().rank, WorldRank::of(3));
  const auto scene = viewing.session.ring(viewing.navigator.cursor());
  ASSERT_EQ(scene->ranks.size(), 2u);
  EXPECT_EQ(scene->ranks[0].rank, WorldRank::of(1));
  EXPECT_EQ(scene->ranks[1].rank, WorldRank::of(3));
  viewing.navigator.selectRank(WorldRank::of(0));
  EXPECT_EQ(viewing.navigator.cursor().rank, WorldRank::of(3)) << "rank 0 is of the other group";
  viewing.navigator.setGroup(7);
  EXPECT_EQ(viewing.navigator.cursor().group, 1) << "there is no such group";
}

TEST(NavigatorTest, AnInstantIsARingStepOfTheSelectedRankAndHowFarIntoIt) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 4, 1), "run", false);
  viewing.navigator.goToInstant(3400);
  EXPECT_EQ(viewing.navigator.cursor().place.stage, RingStep::of(2));
  EXPECT_NEAR(viewing.navigator.cursor().phase, 0.5, 1e-9);
  EXPECT_EQ(viewing.navigator.instant(), 3400);
}

TEST(PlayerTest, ARingStepTakes1200MillisecondsAndAFinishedRecordingEnds) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 4, 1), "run", false);
  viewing.player.setPlaying(true);
  for (int i = 0; i < 6; ++i) viewing.player.advance(0.1);
  EXPECT_EQ(viewing.navigator.moment(), 0);
  EXPECT_NEAR(viewing.navigator.cursor().phase, 0.5, 1e-9);
  viewing.player.setSpeed(4);
  viewing.player.advance(0.3);
  EXPECT_EQ(viewing.navigator.moment(), 1);
  EXPECT_NEAR(viewing.navigator.cursor().phase, 0.5, 1e-9);
  viewing.player.advance(1e6);
  EXPECT_FALSE(viewing.player.playing());
  EXPECT_EQ(viewing.navigator.instant(), 8800) << "the end of the last ring step";
  viewing.player.setPlaying(true);
  EXPECT_EQ(viewing.navigator.moment(), 0) << "and begins again";
}

TEST(PlayerTest, WithoutMotionItShowsTheEndOfEachStepForItsTime) {
  Viewing viewing;
  viewing.session.open(test::smallRun(1, 4, 1), "run", false);
  viewing.player.setReducedMotion(true);
  viewing.player.setPlaying(true);
  viewing.player.advance(1.0);
  EXPECT_EQ(viewing.navigator.moment(), 0);
  EXPECT_EQ(viewing.navigator.cursor().phase, 1);
  viewing.player.advance(0.3);
  EXPECT_EQ(viewing.navigator.moment(), 1);
  EXPECT_EQ(viewing.navigator.cursor().phase, 1);
}

TEST(RingSceneTest, OnTheTimeAxisEveryRankStandsWhereItWasAtThatInstant) {
  Viewing viewing;
  viewing.session.open(test::smallRun(2, 4, 2), "run", false);
  viewing.navigator.setPlace(test::placeAt(1, 0, Direction::kForward, 2));
  viewing.navigator.setMoment(viewing.navigator.moment(), 0.5);
  viewing.navigator.setAxis(Axis::kTime);
  const auto scene = viewing.session.ring(viewing.navigator.cursor());
  ASSERT_EQ(scene->ranks.size(), 4u);
  for (const RankScene& rank : scene->ranks) {
    EXPECT_LE(rank.window.begin_ns, viewing.navigator.instant());
    EXPECT_GE(rankPhase(*scene, rank, 0.5), 0.0);
    EXPECT_LE(rankPhase(*scene, rank, 0.5), 1.0);
  }
}

TEST(BackgroundTest, UsesTheNewestRequestOfAKindAndStopsTheOlder) {
  Background background;
  std::vector<int> used;
  std::atomic<bool> stopped = false;
  background.request(
      "kind",
      [&](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, stop, [] { return false; });
        stopped = true;
        return 1;
      },
      [&](int value) { used.push_back(value); });
  background.request(
      "kind", [](const std::stop_token&) { return 2; }, [&](int value) { used.push_back(value); });
  background.request(
      "other", [](const std::stop_token&) { return 3; }, [&](int value) { used.push_back(value); });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !background.busy() && stopped; }, 10000));
  std::sort(used.begin(), used.end());
  EXPECT_EQ(used, (std::vector<int>{2, 3}));
}

TEST(BackgroundTest, ReportsAnExceptionAndServesTheNextRequest) {
  Background background;
  QString problem;
  bool used = false, after = false;
  QObject::connect(&background, &Background::failed, &background,
                   [&](const QString& kind, const QString& why) { problem = kind + ": " + why; });
  background.request(
      "kind", [](const std::stop_token&) -> int { throw std::bad_alloc(); },
      [&](int) { used = true; });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !problem.isEmpty(); }, 10000));
  EXPECT_EQ(problem, "kind: there is not enough memory for this");
  background.request(
      "kind", [](const std::stop_token&) { return 1; }, [&](int) { after = true; });
  EXPECT_TRUE(QTest::qWaitFor([&] { return after; }, 10000));
  EXPECT_FALSE(used);
}

TEST(SessionTest, ReportsThatTheDoctorCannotReadTheFile) {
  Session session;
  session.diagnose("/nonexistent/a.rscope");
  EXPECT_TRUE(QTest::qWaitFor([&] { return session.diagnosis().has_value(); }, 10000));
  const DoctorScene scene = makeDoctorScene(session.diagnosis(), false);
  EXPECT_NE(scene.note.find("/nonexistent/a.rscope"), std::string::npos) << scene.note;
  EXPECT_TRUE(scene.cards.empty());
}

TEST(SessionTest, EveryReaderUsesTheTraceThatWasOpened) {
  const test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  std::filesystem::copy_file(test::sampleRecording(), path);
  const auto file = std::make_shared<RecordedFile>(path);
  file->trace();
  std::filesystem::remove(path);  // nothing can open it again
  Session session;
  session.open(file->trace(), "a.rscope", false, file);
  session.readTracks();
  session.diagnose(QString::fromStdString(path));
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.diagnosis().has_value(); }, 20000));
  EXPECT_EQ(session.diagnosis()->problem, "");
  EXPECT_FALSE(session.diagnosis()->findings().empty());
  const auto go_on = [](std::size_t) { return false; };
  EXPECT_EQ(ask(*session.file(), "SELECT 1 FROM events", 1, go_on).problem, "");
  Comparison comparison(session);
  comparison.with(QString::fromStdString(test::sampleRecording()));
  EXPECT_TRUE(QTest::qWaitFor([&] { return comparison.runs() != nullptr; }, 20000));
}

TEST(BackgroundTest, ACancelledResultIsNotUsed) {
  Background background;
  bool used = false;
  background.request(
      "kind", [](const std::stop_token&) { return 1; }, [&](int) { used = true; });
  background.cancel("kind");
  EXPECT_FALSE(background.busy());
  bool after = false;
  background.request(
      "later", [](const std::stop_token&) { return 1; }, [&](int) { after = true; });
  EXPECT_TRUE(QTest::qWaitFor([&] { return after; }, 10000));
  EXPECT_FALSE(used);
}

}  // namespace
}  // namespace ringscope::viz
