// SPDX-License-Identifier: GPL-3.0-or-later
// The names of runs, and the runs that the limit removes.
#include "viz/link/run_folder.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSet>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/files.h"
#include "traces/format/core/error.h"
#include "traces/format/storage/recording_lock.h"
#include "traces/format/storage/sqlite_sink.h"
#include "viz/window/run_name.h"

namespace ringscope::viz {
namespace {

using traces::RecordingLock;

class RunFolderTest : public testing::Test {
 protected:
  const QDateTime now{QDate(2026, 11, 27), QTime(14, 3, 22)};
  test::TempDir dir;
  RunFolder runs{QString::fromStdString(dir.file("runs"))};

  /// Writes a closed recording, `age` minutes old, of a run that a window made.
  QString record(const QString& settings, int age) {
    const QString path = runs.makeRun(settings, now).path();
    write(path);
    setAge(path, age);
    return path;
  }
  static void write(const QString& path) {
    traces::SqliteSink sink(path.toStdString());
    sink.close();
  }
  void setAge(const QString& path, int minutes) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadWrite));
    ASSERT_TRUE(file.setFileTime(now.addSecs(-60 * minutes), QFileDevice::FileModificationTime));
  }
  static QStringList names(const std::vector<RunFolder::Run>& of) {
    QStringList all;
    for (const RunFolder::Run& run : of) all << run.name;
    return all;
  }
  static QString nameFor(const QString& path) { return QFileInfo(path).fileName(); }
};

TEST_F(RunFolderTest, NamesARunByItsTimeAndSettings) {
  EXPECT_EQ(runs.makeRun(runName({}), now).path(),
            runs.path() + "/2026-11-27 14-03-22 ring cp4 head_tail causal.rscope");
  RunConfig config;
  config.dp = 2;
  config.tp = 2;
  config.cp = 8;
  config.balance = traces::Balance::kNone;
  config.mask = traces::MaskKind::kWindow;
  config.window = 64;
  config.dtype = traces::DType::kBFloat16;
  config.model_dir = "/models/llama:7?/";
  config.mistakes = {"naive_sum_merge"};
  config.sealed = {"dropped_hop"};
  EXPECT_EQ(nameFor(runs.makeRun(runName(config), now).path()),
            "2026-11-27 14-03-22 ring dp2 tp2 cp8 none window64 bfloat16 llama_7_.rscope")
      << "mistakes stay out of the name";
}

TEST_F(RunFolderTest, NamesAreSafeOnEveryFileSystem) {
  const QString name =
      nameFor(runs.makeRun("a/b\\c:d*e?f\"g<h>i|j\nk\t" + QString(300, 'x'), now).path());
  EXPECT_FALSE(name.contains(QRegularExpression(R"([\\/:*?"<>|\x00-\x1f])"))) << name.toStdString();
  EXPECT_LT(name.size(), 128);
  EXPECT_TRUE(QFileInfo(runs.path() + "/" + name).isFile());
}

TEST_F(RunFolderTest, RunsOfOneSecondHaveDifferentFiles) {
  const RunHold a = runs.makeRun("ring", now), b = runs.makeRun("ring", now);
  EXPECT_EQ(nameFor(a.path()), "2026-11-27 14-03-22 ring.rscope");
  EXPECT_EQ(nameFor(b.path()), "2026-11-27 14-03-22 ring 2.rscope");
}

TEST_F(RunFolderTest, TwoWindowsAtOnceNeverShareAFile) {
  constexpr int kRuns = 50;
  QSet<QString> paths[2];
  {
    std::vector<std::jthread> windows;
    for (QSet<QString>& made : paths)
      windows.emplace_back([&] {
        RunFolder own(runs.path());
        for (int i = 0; i < kRuns; ++i) made << own.makeRun("ring", now).path();
      });
  }
  EXPECT_EQ(paths[0].size(), kRuns);
  EXPECT_EQ(paths[1].size(), kRuns);
  EXPECT_FALSE(paths[0].intersects(paths[1]));
}

TEST_F(RunFolderTest, AFileOfTheUserIsNeverTakenForANewRun) {
  const QString path = runs.path() + "/2026-11-27 14-03-22 ring.rscope";
  QDir().mkpath(runs.path());
  write(path);
  EXPECT_NE(runs.makeRun("ring", now).path(), path);
  EXPECT_FALSE(runs.isOwn(path));
  EXPECT_GT(QFileInfo(path).size(), 0);
}

TEST_F(RunFolderTest, RemovesTheOldestRunsUntilTheRestFits) {
  const QString newest = record("d", 1), oldest = record("a", 9), old = record("b", 8);
  const QString young = record("c", 2);
  const qint64 each = QFileInfo(newest).size();
  EXPECT_TRUE(runs.removeBeyond(4 * each).empty()) << "all fit";
  EXPECT_EQ(names(runs.runsBeyond(2 * each)), QStringList({nameFor(oldest), nameFor(old)}));
  EXPECT_EQ(names(runs.removeBeyond(2 * each)), QStringList({nameFor(oldest), nameFor(old)}));
  EXPECT_FALSE(QFileInfo::exists(oldest));
  EXPECT_FALSE(QFileInfo::exists(old));
  EXPECT_TRUE(QFileInfo::exists(young));
  EXPECT_TRUE(QFileInfo::exists(newest));
  EXPECT_EQ(names(runs.unpinnedRuns()), QStringList({nameFor(young), nameFor(newest)}));
}

TEST_F(RunFolderTest, ALimitOfNothingKeepsEveryRun) {
  record("a", 2);
  record("b", 1);
  EXPECT_TRUE(runs.removeBeyond(0).empty());
}

TEST_F(RunFolderTest, KeepsTheNewestRunOfAnySize) {
  const QString older = record("a", 2), newest = record("b", 1);
  EXPECT_EQ(names(runs.removeBeyond(1)), QStringList(nameFor(older)));
  EXPECT_TRUE(QFileInfo::exists(newest));
}

TEST_F(RunFolderTest, KeepsAPinnedRunAndDoesNotCountIt) {
  const QString pinned = record("a", 9), old = record("b", 2), newest = record("c", 1);
  runs.setPinned(pinned, true);
  EXPECT_TRUE(runs.isPinned(pinned));
  EXPECT_TRUE(runs.removeBeyond(2 * QFileInfo(newest).size()).empty());
  EXPECT_EQ(names(runs.removeBeyond(1)), QStringList(nameFor(old)));
  EXPECT_TRUE(QFileInfo::exists(pinned));
  runs.setPinned(pinned, false);
  EXPECT_EQ(names(runs.removeBeyond(1)), QStringList(nameFor(pinned)));
}

TEST_F(RunFolderTest, KeepsARunThatAnyWindowHasInUse) {
  const QString used = record("a", 9), newest = record("b", 1);
  RunFolder other(runs.path());
  {
    const RunHold first = other.hold(used), second = runs.hold(used);
    EXPECT_EQ(first.path(), used);
    EXPECT_TRUE(runs.runsBeyond(1).empty());
    EXPECT_TRUE(runs.removeBeyond(1).empty());
  }
  EXPECT_EQ(names(runs.removeBeyond(1)), QStringList(nameFor(used)));
}

TEST_F(RunFolderTest, KeepsARunThatIsStillBeingRecorded) {
  const QString recorded = record("a", 9);
  record("b", 1);
  const RecordingLock recorder(recorded.toStdString(), RecordingLock::File::kThere);
  EXPECT_TRUE(runs.removeBeyond(1).empty());
  EXPECT_TRUE(QFileInfo::exists(recorded));
}

TEST_F(RunFolderTest, NeverRemovesWhatTheUserPutThere) {
  const QString named = runs.path() + "/mine.rscope";
  const QString renamed = runs.path() + "/2026-11-27 14-03-22 my best.rscope";
  const QString old = record("a", 8);
  record("b", 1);
  write(named);
  setAge(named, 99);
  ASSERT_TRUE(QFile::rename(old, renamed));
  EXPECT_TRUE(runs.removeBeyond(1).empty());
  EXPECT_TRUE(QFileInfo::exists(named));
  EXPECT_TRUE(QFileInfo::exists(renamed));
}

TEST_F(RunFolderTest, NeverRemovesAFileThatIsNoTrace) {
  const QString path = record("a", 9);
  record("b", 1);
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("notes of mine");
  file.close();
  setAge(path, 9);
  EXPECT_TRUE(runs.removeBeyond(1).empty());
  EXPECT_TRUE(QFileInfo::exists(path));
}

TEST_F(RunFolderTest, RemovesTheEmptyFilesOfRunsThatNeverBegan) {
  const QString empty = runs.makeRun("a", now).path();
  EXPECT_TRUE(runs.removeBeyond(0).empty()) << "nothing was lost, so nothing is said";
  EXPECT_FALSE(QFileInfo::exists(empty));
  EXPECT_FALSE(runs.isOwn(empty));
  const RunHold waiting = runs.makeRun("b", now);
  runs.removeBeyond(0);
  EXPECT_TRUE(QFileInfo::exists(waiting.path())) << "its run is about to begin";
}

TEST_F(RunFolderTest, AJobsFolderCountsAsARun) {
  RunHold job = runs.reserveJob(now);
  EXPECT_EQ(nameFor(job.path()), "2026-11-27 14-03-22 job");
  EXPECT_FALSE(QFileInfo::exists(job.path())) << "whoever records makes it";
  const QString next = job.path() + "-2";
  for (const QString& folder : {job.path(), next}) {
    QDir().mkpath(folder);
    std::filesystem::copy_file(test::sampleText(), (folder + "/rank-00000.jsonl").toStdString());
  }
  EXPECT_EQ(runs.adopt(next).path(), next) << "the second job of one listening window";
  record("newest", -9'999'999);
  EXPECT_EQ(names(runs.removeBeyond(1)), QStringList(nameFor(next))) << "the first is held";
  const QString first = job.path();
  job = {};
  EXPECT_EQ(names(runs.removeBeyond(1)), QStringList(nameFor(first)));
  EXPECT_FALSE(QFileInfo::exists(first));
}

TEST_F(RunFolderTest, AFolderThatCannotBeWrittenIsASentence) {
  const std::string file = dir.file("file");
  std::ofstream(file) << "x";
  RunFolder none(QString::fromStdString(file + "/runs"));
  try {
    none.makeRun("ring", now);
    FAIL();
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("the run cannot be recorded: " + file), std::string::npos) << said;
    EXPECT_NE(said.find("Free some space or check the permissions"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace ringscope::viz
