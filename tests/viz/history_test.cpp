// SPDX-License-Identifier: GPL-3.0-or-later
// The list of runs and recordings, their digests, and the settings in which they differ.
#include "viz/history/history.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/files.h"
#include "tests/viz/recorded_ring.h"
#include "traces/format/core/error.h"
#include "traces/plan/balance.h"
#include "viz/history/digest_store.h"

namespace ringscope::viz {
namespace {

class HistoryTest : public testing::Test {
 protected:
  QString path(const char* name) { return QString::fromStdString(dir.file(name)); }
  /// Records a run of a window in the folder of runs.
  QString keepRun(const QString& settings, int minutes_ago) {
    const QDateTime then = now.addSecs(-60 * minutes_ago);
    const QString run = runs.makeRun(settings, then).path();
    test::recordFile({}, run.toStdString());
    setTime(run, then);
    return run;
  }
  QString recordElsewhere(const char* name) {
    test::recordFile({}, dir.file(name));
    setTime(path(name), now.addDays(-2));
    return path(name);
  }
  static void setTime(const QString& file, const QDateTime& time) {
    QFile changed(file);
    ASSERT_TRUE(changed.open(QIODevice::ReadWrite));
    ASSERT_TRUE(changed.setFileTime(time, QFileDevice::FileModificationTime));
  }
  QStringList names() {
    QStringList all;
    for (const HistoryEntry& entry : history.list()) all << entry.name;
    return all;
  }
  HistoryEntry entryNamed(const QString& name) {
    for (const HistoryEntry& entry : history.list())
      if (entry.name == name) return entry;
    ADD_FAILURE() << name.toStdString();
    return {};
  }

  test::TempDir dir;
  const QDateTime now = QDateTime::currentDateTime();
  RunFolder runs{QString::fromStdString(dir.file("runs"))};
  RecordingLog log{QString::fromStdString(dir.file("recordings.json"))};
  History history{runs, log};
};

TEST_F(HistoryTest, ListsRunsAndOpenedRecordingsWithTheNewestFirst) {
  keepRun("old", 60);
  keepRun("new", 1);
  history.setOpened(recordElsewhere("elsewhere.rscope"), now);
  const QStringList all = names();
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0], "new") << "the time is not repeated";
  EXPECT_EQ(all[1], "old");
  EXPECT_EQ(all[2], "elsewhere.rscope");
  EXPECT_FALSE(history.list()[2].is_own);
}

TEST_F(HistoryTest, APinnedEntryComesFirstAndIsPinnedForTheLimitToo) {
  const QString old = keepRun("old", 60);
  keepRun("new", 1);
  history.setPinned(history.list()[1], true);
  EXPECT_EQ(history.list()[0].path, old);
  EXPECT_TRUE(runs.isPinned(old));
  history.setOpened(recordElsewhere("elsewhere.rscope"), now);
  history.setPinned(entryNamed("elsewhere.rscope"), true);
  EXPECT_EQ(names().first(), history.list()[0].name);
  EXPECT_TRUE(entryNamed("elsewhere.rscope").pinned);
}

TEST_F(HistoryTest, ANameOfTheUsersStaysForTheNextWindowAndLeavesTheFile) {
  const QString run = keepRun("ring", 1);
  HistoryEntry entry = entryNamed("ring");
  history.rename(entry, "  baseline ");
  const History next(runs, log);
  EXPECT_EQ(next.list()[0].name, "baseline");
  EXPECT_TRUE(QFile::exists(run));
  history.rename(entry, "");
  EXPECT_EQ(names().first(), "ring");
}

TEST_F(HistoryTest, RecentRecordingsAreThoseUsedLast) {
  keepRun("old", 60);
  const QString elsewhere = recordElsewhere("elsewhere.rscope");
  history.setOpened(elsewhere, now);
  const auto recent = history.recent(1);
  ASSERT_EQ(recent.size(), 1u);
  EXPECT_EQ(recent[0].path, elsewhere);
  ASSERT_TRUE(QFile::remove(elsewhere));
  EXPECT_TRUE(history.recent(5)[0].is_own) << "a missing file is not offered";
  EXPECT_TRUE(entryNamed("elsewhere.rscope").is_missing) << "the whole list says that it is gone";
}

TEST_F(HistoryTest, DeletingARunRemovesItsFileAndTakingOffTheListDoesNot) {
  const QString run = keepRun("ring", 1);
  HistoryEntry entry = entryNamed("ring");
  history.rename(entry, "mine");
  history.setPinned(entryNamed("mine"), true);
  history.remove(entryNamed("mine"));
  EXPECT_FALSE(QFile::exists(run));
  const QString elsewhere = recordElsewhere("elsewhere.rscope");
  history.setOpened(elsewhere, now);
  history.remove(entryNamed("elsewhere.rscope"));
  EXPECT_TRUE(QFile::exists(elsewhere));
  EXPECT_TRUE(history.list().empty());
}

TEST_F(HistoryTest, ARunInUseIsNotDeleted) {
  const QString run = keepRun("ring", 1);
  const RunHold hold = runs.hold(run);
  try {
    history.remove(history.list()[0]);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is in use by a window"), std::string::npos);
  }
  EXPECT_TRUE(QFile::exists(run));
}

TEST_F(HistoryTest, ADamagedLogIsReadAsAnEmptyOneAndWrittenAnew) {
  QFile file(path("recordings.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("{\"not\": [a list");
  file.close();
  EXPECT_TRUE(log.list().empty());
  log.setOpened(path("a.rscope"), now);
  ASSERT_EQ(log.list().size(), 1u);
  EXPECT_EQ(log.list()[0].path, path("a.rscope"));
}

TEST_F(HistoryTest, ALogThatCannotBeWrittenIsASentence) {
  test::recordFile({}, dir.file("file"));
  RecordingLog none(path("file/recordings.json"));
  try {
    none.setOpened(path("a.rscope"), now);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Free some space"), std::string::npos);
  }
}

class DigestTest : public HistoryTest {
 protected:
  std::shared_ptr<const RecordingDigest> make(DigestStore& store, const QString& file) {
    store.digest(file);
    EXPECT_TRUE(QTest::qWaitFor([&] { return !store.isBusy(); }, 20000));
    return store.digest(file);
  }
  const QString folder = QString::fromStdString(dir.file("digests"));
};

TEST_F(DigestTest, ARecordingHasAHeadlineAVerdictAndAPicture) {
  test::RingRun wrong;
  wrong.restarts_positions = true;
  test::recordFile({}, dir.file("right.rscope"));
  test::recordFile(wrong, dir.file("wrong.rscope"));
  DigestStore store(folder);
  const auto right = make(store, path("right.rscope")), bad = make(store, path("wrong.rscope"));
  ASSERT_TRUE(right && bad);
  EXPECT_NE(right->verdict.kind, ShortVerdict::Kind::kWrong) << right->verdict.words.toStdString();
  EXPECT_EQ(bad->verdict.kind, ShortVerdict::Kind::kWrong);
  EXPECT_TRUE(bad->verdict.words.startsWith("▲ ")) << bad->verdict.words.toStdString();
  EXPECT_TRUE(right->headline.contains("4 ranks")) << right->headline.toStdString();
  EXPECT_FALSE(right->dark.isNull());
  EXPECT_FALSE(right->light.isNull());
  EXPECT_GT(right->bytes, 1000);
}

TEST_F(DigestTest, TheNextWindowReadsTheDigestFromTheCache) {
  test::recordFile({}, dir.file("a.rscope"));
  DigestStore first(folder);
  const auto made = make(first, path("a.rscope"));
  // The file is replaced by one of the same size and time, so only a kept digest can be right.
  const QDateTime time = QFileInfo(path("a.rscope")).lastModified();
  QFile file(path("a.rscope"));
  ASSERT_TRUE(file.open(QIODevice::ReadWrite));
  file.write(QByteArray(static_cast<int>(file.size()), 'x'));
  file.close();
  setTime(path("a.rscope"), time);
  DigestStore second(folder);
  const auto kept = make(second, path("a.rscope"));
  EXPECT_EQ(kept->problem, "");
  EXPECT_EQ(kept->headline, made->headline);
  EXPECT_EQ(kept->verdict.words, made->verdict.words);
  EXPECT_FALSE(kept->dark.isNull());
}

TEST_F(DigestTest, AChangedRecordingIsReadAgainAndABrokenOneSaysWhy) {
  test::recordFile({}, dir.file("a.rscope"));
  DigestStore store(folder);
  EXPECT_EQ(make(store, path("a.rscope"))->problem, "");
  QFile file(path("a.rscope"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
  file.write("this is no recording");
  file.close();
  const auto broken = make(store, path("a.rscope"));
  EXPECT_NE(broken->problem, "");
  EXPECT_FALSE(broken->problem.contains(path("a.rscope"))) << "the row names the file already";
}

TEST_F(DigestTest, AskingForADigestDoesNotWaitForIt) {
  DigestStore store(folder);
  test::RingRun large;
  large.seq_len = 512;
  test::recordFile(large, dir.file("a.rscope"));
  QElapsedTimer clock;
  clock.start();
  EXPECT_EQ(store.digest(path("a.rscope")), nullptr);
  EXPECT_LT(clock.elapsed(), 50);
  EXPECT_TRUE(store.isBusy());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !store.isBusy(); }, 20000));
}

TEST_F(DigestTest, TextThatNoWindowWroteIsNoDigest) {
  for (const char* text : {"", "[]", "{}", "{\"version\": 1}", "{\"version\": 99}", "nonsense"})
    EXPECT_FALSE(decodeDigest(text).has_value()) << text;
}

std::string joined(const std::vector<SettingWord>& words) {
  std::string all;
  for (const SettingWord& word : words)
    all += (all.empty() ? "" : " · ") + word.text + (word.differs_from_next ? "*" : "");
  return all;
}

TEST(RunSettingsTest, NamesWhatDiffersFromTheDefaultAndFromTheNextRecording) {
  traces::RunSpec plain;
  plain.balance = traces::defaultCausalBalance();
  EXPECT_EQ(joined(describeDifferences(listSettings(plain), {})), "");
  traces::RunSpec other = plain;
  other.cp = 8;
  other.balance = traces::Balance::kStriped;
  other.recompute = true;
  other.seq_len = 512;
  other.steps = 1;
  const RunSettings settings = listSettings(other);
  EXPECT_EQ(joined(describeDifferences(settings, {})),
            "cp 8 · striped · 512 tokens · 1 step · recompute");
  EXPECT_EQ(joined(describeDifferences(settings, listSettings(plain))),
            "cp 8* · striped* · 512 tokens* · 1 step* · recompute*");
  EXPECT_EQ(joined(describeDifferences(listSettings(plain), settings)),
            "cp 4* · head_tail* · 256 tokens* · 10 steps* · no recompute*")
      << "a default setting is named when the next recording has another";
}

TEST(RunSettingsTest, CountsOfTheMachineAndTheRecorderAreNoSettings) {
  traces::RunSpec run, same;
  run.cores = 64;
  run.capture = "full";
  run.verify = true;
  EXPECT_EQ(listSettings(run), listSettings(same));
}

}  // namespace
}  // namespace ringscope::viz
