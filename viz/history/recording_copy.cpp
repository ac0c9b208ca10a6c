// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/recording_copy.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <vector>

#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "viz/history/note_book.h"
#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

constexpr qint64 kPiece = 1 << 20;
constexpr const char* kUnfinished = ".part";

[[noreturn]] void refuse(const QString& path, const QString& why, const QString& advice) {
  throw inputError(QString("%1: %2. %3").arg(path, why, advice).toStdString());
}

/// A file of the recording and its place in the copy.
struct CopiedFile {
  QString from, to;
  qint64 bytes = 0;
};

std::vector<CopiedFile> listFiles(const QString& from, const QString& to) {
  const QFileInfo recording(from);
  if (!recording.isDir()) return {{from, to, recording.size()}};
  std::vector<CopiedFile> files;
  QDirIterator each(from, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
  while (each.hasNext()) {
    const QString path = each.next();
    files.push_back({path, to + path.mid(from.size()), QFileInfo(path).size()});
  }
  return files;
}

void checkTarget(const QString& from, const QString& to) {
  const QFileInfo recording(from), target(to);
  if (isOnOtherMachine(from))
    refuse(from, "a recording on another machine is not copied by the window",
           "Copy it with `scp`, and open the copy.");
  if (!recording.exists()) refuse(from, "no such file", "It was moved or deleted; find it first.");
  const QString inside = QDir::cleanPath(recording.absoluteFilePath()) + "/";
  const bool is_within = QDir::cleanPath(target.absoluteFilePath()).startsWith(inside);
  if (traces::isSameFile(from.toStdString(), to.toStdString()) || is_within)
    refuse(to, "the copy would overwrite the recording itself", "Choose another name.");
  if (target.isDir() || (target.exists() && recording.isDir()))
    refuse(to, "exists already", "Choose another name, or delete it first.");
}

/// Copies files and counts their bytes.
class Copier {
 public:
  Copier(qint64 total, const std::function<bool(qint64, qint64)>& go_on)
      : total_(total), go_on_(go_on) {}

  /// Returns false when the copy is to stop.
  bool copy(const CopiedFile& file) {
    QDir().mkpath(QFileInfo(file.to).path());
    QFile from(file.from), to(file.to);
    if (!from.open(QIODevice::ReadOnly))
      refuse(file.from, from.errorString(), "Check the permissions of the recording.");
    if (!to.open(QIODevice::WriteOnly | QIODevice::Truncate)) fail(to);
    while (!from.atEnd()) {
      const QByteArray piece = from.read(kPiece);
      if (piece.isEmpty() && from.error() != QFileDevice::NoError)
        refuse(file.from, from.errorString(), "The recording cannot be read whole.");
      if (to.write(piece) != piece.size() || !to.flush()) fail(to);
      copied_ += piece.size();
      if (!go_on_(copied_, total_)) return false;
    }
    to.close();
    if (to.error() != QFileDevice::NoError) fail(to);
    traces::waitForDisk(file.to.toStdString());
    return true;
  }

 private:
  [[noreturn]] static void fail(const QFile& to) {
    refuse(QFileInfo(to).path(), "the copy cannot be written: " + to.errorString(),
           "Free some space or choose another folder.");
  }

  qint64 total_, copied_ = 0;
  const std::function<bool(qint64, qint64)>& go_on_;
};

/// The unfinished copy, which is removed unless it was given its name.
class Unfinished {
 public:
  explicit Unfinished(const QString& to) : path_(to + kUnfinished) { remove(); }
  ~Unfinished() { remove(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const QString& path() const { return path_; }
  void finish(const QString& to) {
    if (QFileInfo(to).isFile()) QFile::remove(to);
    if (!QFile::rename(path_, to))
      refuse(to, "the copy cannot be given its name", "Check the permissions of the folder.");
  }

 private:
  void remove() const {
    QFileInfo(path_).isDir() ? QDir(path_).removeRecursively() : QFile::remove(path_);
  }

  QString path_;
};

}  // namespace

bool copyRecording(const QString& from_path, const QString& to,
                   const std::function<bool(qint64 copied, qint64 total)>& go_on) {
  const QString from = isOnOtherMachine(from_path) ? from_path : QDir::cleanPath(from_path);
  checkTarget(from, to);
  Unfinished copy(to);
  const auto files = listFiles(from, copy.path());
  qint64 total = 0;
  for (const CopiedFile& file : files) total += file.bytes;
  Copier copier(total, go_on);
  for (const CopiedFile& file : files)
    if (!copier.copy(file)) return false;
  copy.finish(to);
  if (const QString problem = saveNotes(notesBeside(to), readNotes(from)); !problem.isEmpty())
    refuse(to, "the recording is copied, but its notes are not: " + problem,
           "Free some space, and save it again.");
  return true;
}

}  // namespace ringscope::viz
