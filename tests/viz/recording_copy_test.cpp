// SPDX-License-Identifier: GPL-3.0-or-later
// Whole copies of recordings.
#include "viz/history/recording_copy.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <QDir>
#include <QFile>
#include <csignal>

#include "tests/viz/own_runs.h"
#include "tests/viz/recorded_ring.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "viz/history/note_book.h"

namespace ringscope::viz {
namespace {

/// Limits the size of files that this process writes, as a full disk does.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class RecordingCopyTest : public OwnRuns, public testing::Test {
 protected:
  RecordingCopyTest() { test::recordFile({}, recording.toStdString()); }
  QString path(const char* name) { return QString::fromStdString(dir.file(name)); }
  static bool copy(const QString& from, const QString& to) {
    return copyRecording(from, to, [](qint64, qint64) { return true; });
  }
  static std::string refusal(const QString& from, const QString& to) {
    try {
      copy(from, to);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  static QByteArray content(const QString& file) {
    QFile opened(file);
    EXPECT_TRUE(opened.open(QIODevice::ReadOnly)) << file.toStdString();
    return opened.readAll();
  }
  void addNote(const QString& about) {
    NoteBook book;
    book.open(about);
    MomentNote note;
    note.text = "keep me";
    note.made = QDateTime::currentDateTime();
    book.add(note);
  }
  QStringList left() { return QDir(path("")).entryList({"copy*"}, QDir::AllEntries); }

  test::TempDir dir;
  const QString recording = path("run.rscope");
};

TEST_F(RecordingCopyTest, AFileIsCopiedByteForByteWithItsNotes) {
  addNote(recording);
  EXPECT_TRUE(copy(recording, path("copy.rscope")));
  EXPECT_EQ(content(path("copy.rscope")), content(recording));
  ASSERT_EQ(readNotes(path("copy.rscope")).size(), 1u);
  EXPECT_EQ(readNotes(path("copy.rscope"))[0].text, "keep me");
  EXPECT_FALSE(traces::openTrace(dir.file("copy.rscope"))->moments().empty());
  EXPECT_EQ(left(), QStringList({"copy.rscope", "copy.rscope.notes"}));
}

TEST_F(RecordingCopyTest, AFolderIsCopiedWithEverythingInIt) {
  ASSERT_TRUE(QDir().mkpath(path("job/rank 1")));
  for (const char* name : {"job/a", "job/rank 1/b", "job/.hidden"})
    std::ofstream(dir.file(name)) << name;
  addNote(path("job"));
  EXPECT_TRUE(copy(path("job/"), path("copy")));
  for (const char* name : {"a", "rank 1/b", ".hidden"})
    EXPECT_EQ(content(path("copy/") + name), QByteArray("job/") + name);
  EXPECT_EQ(readNotes(path("copy")).size(), 1u);
}

TEST_F(RecordingCopyTest, ARecordingIsNeverOverwrittenByItself) {
  const QByteArray before = content(recording);
  ASSERT_TRUE(QFile::link(recording, path("link.rscope")));
  for (const QString& to : {recording, path("./run.rscope"), path("link.rscope")})
    EXPECT_NE(refusal(recording, to).find("would overwrite the recording itself"),
              std::string::npos)
        << to.toStdString();
  ASSERT_TRUE(QDir().mkpath(path("job")));
  std::ofstream(dir.file("job/a")) << "a";
  EXPECT_NE(refusal(path("job"), path("job/inner")).find("the recording itself"),
            std::string::npos);
  EXPECT_NE(refusal(recording, path("job")).find("exists already"), std::string::npos);
  EXPECT_EQ(content(recording), before);
}

TEST_F(RecordingCopyTest, AStoppedCopyLeavesNothingAndAnOlderFileStays) {
  std::ofstream(dir.file("copy.rscope")) << "older";
  EXPECT_FALSE(copyRecording(recording, path("copy.rscope"), [](qint64 copied, qint64 total) {
    EXPECT_LE(copied, total);
    return false;
  }));
  EXPECT_EQ(left(), QStringList({"copy.rscope"}));
  EXPECT_EQ(content(path("copy.rscope")), "older");
}

TEST_F(RecordingCopyTest, AFullDiskIsASentenceAndLeavesNothing) {
  std::string said;
  {
    const SmallFiles small(4096);
    said = refusal(recording, path("copy.rscope"));
  }
  EXPECT_NE(said.find("the copy cannot be written: "), std::string::npos) << said;
  EXPECT_NE(said.find("Free some space or choose another folder."), std::string::npos) << said;
  EXPECT_EQ(left(), QStringList());
}

TEST_F(RecordingCopyTest, AMissingRecordingAndAMissingFolderAreSentences) {
  EXPECT_NE(refusal(path("gone.rscope"), path("copy.rscope")).find("no such file"),
            std::string::npos);
  std::ofstream(dir.file("file")) << "x";
  EXPECT_NE(refusal(recording, path("file/copy.rscope")).find("the copy cannot be written"),
            std::string::npos);
  EXPECT_NE(refusal("ssh://host/run.rscope", path("copy.rscope")).find("on another machine"),
            std::string::npos);
}

}  // namespace
}  // namespace ringscope::viz
