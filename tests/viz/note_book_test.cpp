// SPDX-License-Identifier: GPL-3.0-or-later
// Notes about moments: where they are kept, and how changes are undone.
#include "viz/history/note_book.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <QDir>
#include <QFile>

#include "tests/viz/own_runs.h"
#include "tests/viz/recorded_ring.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

class NoteBookTest : public OwnRuns, public testing::Test {
 protected:
  NoteBookTest() {
    test::recordFile({}, recording.toStdString());
    book.open(recording);
  }
  static MomentNote note(const QString& text, int layer) {
    MomentNote made;
    made.text = text;
    made.view = "ring";
    made.place.layer = traces::Layer::of(layer);
    made.place.stage = traces::RingStep::of(2);
    made.phase = 0.25;
    made.rank = WorldRank::of(3);
    made.made = QDateTime::fromSecsSinceEpoch(1'800'000'000);
    return made;
  }
  static QStringList texts(const MomentNotes& notes) {
    QStringList all;
    for (const MomentNote& each : notes) all << each.text;
    return all;
  }

  test::TempDir dir;
  QString recording = QString::fromStdString(dir.file("run.rscope"));
  NoteBook book;
};

TEST_F(NoteBookTest, KeepsNotesBesideTheRecordingInTheOrderOfTheirPlaces) {
  book.add(note("later", 1));
  book.add(note("earlier", 0));
  EXPECT_EQ(texts(book.notes()), QStringList({"earlier", "later"}));
  EXPECT_TRUE(book.isBeside());
  EXPECT_TRUE(QFile::exists(recording + ".notes"));
  NoteBook next;
  next.open(recording);
  EXPECT_EQ(next.notes(), book.notes());
  EXPECT_EQ(next.notes()[1], note("later", 1));
}

TEST_F(NoteBookTest, EveryChangeIsUndoneAndRedoneAndSaved) {
  book.add(note("first", 0));
  book.add(note("second", 1));
  book.setText(0, "changed");
  book.remove(1);
  EXPECT_EQ(texts(readNotes(recording)), QStringList({"changed"}));
  book.undo();
  EXPECT_EQ(texts(readNotes(recording)), QStringList({"changed", "second"}));
  book.undo();
  EXPECT_EQ(texts(readNotes(recording)), QStringList({"first", "second"}));
  book.redo();
  book.redo();
  EXPECT_EQ(texts(readNotes(recording)), QStringList({"changed"}));
  EXPECT_FALSE(book.canRedo());
  for (int i = 0; i < 4; ++i) book.undo();
  EXPECT_TRUE(book.notes().empty());
  EXPECT_FALSE(QFile::exists(recording + ".notes")) << "no file is left of no notes";
}

TEST_F(NoteBookTest, AnotherRecordingHasItsOwnNotesAndNothingToUndo) {
  book.add(note("first", 0));
  test::recordFile({}, dir.file("other.rscope"));
  book.open(QString::fromStdString(dir.file("other.rscope")));
  EXPECT_TRUE(book.notes().empty());
  EXPECT_FALSE(book.canUndo());
  book.undo();
  EXPECT_EQ(texts(readNotes(recording)), QStringList({"first"}));
}

TEST_F(NoteBookTest, NotesAboutAFolderLieInItAndTheFolderStillOpens) {
  const QString folder = QString::fromStdString(dir.file("job"));
  ASSERT_TRUE(QDir().mkpath(folder));
  ASSERT_TRUE(QFile::copy(recording, folder + "/run.rscope"));
  book.open(folder);
  book.add(note("in a folder", 0));
  EXPECT_TRUE(QFile::exists(folder + "/.ringscope.notes"));
  EXPECT_TRUE(book.isBeside());
  EXPECT_EQ(texts(readNotes(folder)), QStringList({"in a folder"}));
}

TEST_F(NoteBookTest, WhereTheFolderCannotBeWrittenNotesGoToTheDataFolder) {
  // A folder of that name cannot be replaced by a file, not even by the superuser.
  ASSERT_TRUE(QDir().mkpath(recording + ".notes/taken"));
  book.open(recording);
  book.add(note("kept elsewhere", 0));
  EXPECT_EQ(book.problem(), "");
  EXPECT_FALSE(book.isBeside());
  EXPECT_TRUE(QFile::exists(notesElsewhere(recording)));
  NoteBook next;
  next.open(recording);
  EXPECT_EQ(texts(next.notes()), QStringList({"kept elsewhere"}));
  EXPECT_FALSE(next.isBeside());
}

TEST_F(NoteBookTest, ARecordingOnAnotherMachineHasItsNotesInTheDataFolder) {
  book.open("ssh://host/run.rscope");
  EXPECT_FALSE(book.isBeside());
  book.add(note("remote", 0));
  EXPECT_EQ(texts(readNotes("ssh://host/run.rscope")), QStringList({"remote"}));
}

TEST_F(NoteBookTest, AFileThatNobodyWroteAsNotesGivesNone) {
  for (const char* text :
       {"", "[]", "{\"notes\": 3}", "{\"notes\": [{\"text\": 1}]}", "nonsense"}) {
    QFile file(recording + ".notes");
    ASSERT_TRUE(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    file.write(text);
    file.close();
    EXPECT_TRUE(readNotes(recording).empty()) << text;
  }
}

TEST_F(NoteBookTest, AFileThatCannotBeReadAsNotesIsSetAsideAndKept) {
  const QString beside = recording + ".notes";
  const QStringList texts_of_files = {"{\"version\": 1, \"notes\": [{\"te",
                                      "{\"version\": 9, \"notes\": []}"};
  for (const QString& text : texts_of_files) {
    QFile file(beside);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    file.write(text.toUtf8());
    file.close();
    book.open(recording);
    EXPECT_TRUE(book.problem().contains("cannot be read"));
    EXPECT_TRUE(QFile::exists(beside)) << "nothing is moved before a note is added";
    book.add(note("new", 0));
    EXPECT_EQ(book.problem(), "");
    EXPECT_EQ(texts(readNotes(recording)), QStringList({"new"}));
  }
  for (int i = 0; i < 2; ++i) {
    QFile kept(beside + (i == 0 ? ".unreadable" : ".unreadable.2"));
    ASSERT_TRUE(kept.open(QIODevice::ReadOnly));
    EXPECT_EQ(QString::fromUtf8(kept.readAll()), texts_of_files[i]);
  }
}

}  // namespace
}  // namespace ringscope::viz
