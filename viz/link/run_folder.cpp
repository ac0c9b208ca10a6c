// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "traces/format/core/error.h"
#include "traces/format/storage/recording_lock.h"
#include "traces/format/storage/trace_path.h"

namespace ringscope::viz {
namespace {

constexpr const char* kRecords = "/.windows";
constexpr const char* kPinned = "pinned\n";
constexpr int kMostOfOneSecond = 10'000;

QByteArray encoded(const QString& path) {
  return QFile::encodeName(path);
}

[[noreturn]] void refuse(const QString& what, const QString& path, int error) {
  throw inputError(QString("%1: %2: %3. Free some space or check the permissions of the folder.")
                       .arg(what, path, std::generic_category().message(error).c_str())
                       .toStdString());
}

/// Takes flock()'s lock on a record; false when it is refused, or the record is gone by then.
bool lockRecord(int fd, int how) {
  int result = 0;
  do result = ::flock(fd, how);
  while (result != 0 && errno == EINTR);
  struct stat found {};
  return result == 0 && ::fstat(fd, &found) == 0 && found.st_nlink > 0;
}

/// Letters that every file system takes; a name that people can still read.
QString safeName(const QString& words) {
  constexpr int kMostLetters = 80;
  QString name;
  for (const QChar letter : words.left(kMostLetters)) {
    const bool safe = (letter.unicode() < 128 && letter.isLetterOrNumber()) ||
                      QString(" ._-+=,").contains(letter);
    name += safe ? letter : QChar('_');
  }
  return name.trimmed();
}

QString stemOf(const QDateTime& now, const QString& words) {
  return now.toString("yyyy-MM-dd HH-mm-ss") + " " + safeName(words);
}

qint64 bytesOf(const QString& path) {
  qint64 bytes = 0;
  if (QFileInfo(path).isDir()) {
    QDirIterator files(path, QDir::Files | QDir::Hidden | QDir::NoSymLinks,
                       QDirIterator::Subdirectories);
    while (files.hasNext()) bytes += QFileInfo(files.next()).size();
    return bytes;
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"})
    bytes += QFileInfo(path + suffix).size();
  return bytes;
}

bool isPinRecord(const QString& record) {
  QFile file(record);
  return file.open(QIODevice::ReadOnly) && file.read(qstrlen(kPinned)) == kPinned;
}

}  // namespace

RunHold::~RunHold() {
  if (fd_ >= 0) ::close(fd_);
}

RunFolder::RunFolder(const QString& path) : path_(QDir::cleanPath(path)) {}

QString RunFolder::recordOf(const QString& path) const {
  const QFileInfo run(path);
  if (QFileInfo(run.absolutePath()) != QFileInfo(path_)) return {};
  return path_ + kRecords + "/" + run.fileName();
}

RunHold RunFolder::reserve(const QString& stem, const QString& extension, Makes makes) {
  const QString what = "the run cannot be recorded";
  QDir().mkpath(path_ + kRecords);
  for (int number = 1; number <= kMostOfOneSecond; ++number) {
    const QString path =
        path_ + "/" + stem + (number == 1 ? "" : " " + QString::number(number)) + extension;
    const QByteArray record = encoded(recordOf(path));
    const int fd = ::open(record.constData(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) refuse(what, path_ + kRecords, errno);
    RunHold hold(fd, path);
    if (!lockRecord(fd, LOCK_SH)) continue;  // another window takes it for a leftover
    struct stat found {};
    int error = ::lstat(encoded(path).constData(), &found) == 0 ? EEXIST : 0;
    if (makes == Makes::kFile && error == 0) {
      const int file =
          ::open(encoded(path).constData(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      error = file < 0 ? errno : 0;
      if (file >= 0) ::close(file);
    }
    if (error == 0) return hold;
    ::unlink(record.constData());
    if (error != EEXIST) refuse(what, path, error);
  }
  refuse(what, path_, EEXIST);
}

RunHold RunFolder::makeRun(const QString& settings, const QDateTime& now) {
  return reserve(stemOf(now, settings), ".rscope", Makes::kFile);
}

RunHold RunFolder::reserveJob(const QDateTime& now) {
  return reserve(stemOf(now, "job"), "", Makes::kNothing);
}

RunHold RunFolder::adopt(const QString& path) {
  const QString record = recordOf(path);
  if (record.isEmpty()) return {};
  QDir().mkpath(path_ + kRecords);
  const int fd = ::open(encoded(record).constData(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return {};
  RunHold hold(fd, path);
  return lockRecord(fd, LOCK_SH) ? std::move(hold) : RunHold();
}

RunHold RunFolder::hold(const QString& path) const {
  const QString record = recordOf(path);
  if (record.isEmpty()) return {};
  const int fd = ::open(encoded(record).constData(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  RunHold hold(fd, path);
  return lockRecord(fd, LOCK_SH) ? std::move(hold) : RunHold();
}

bool RunFolder::isOwn(const QString& path) const {
  const QString record = recordOf(path);
  return !record.isEmpty() && QFileInfo(record).isFile();
}

bool RunFolder::isPinned(const QString& path) const {
  return isOwn(path) && isPinRecord(recordOf(path));
}

void RunFolder::setPinned(const QString& path, bool pinned) {
  if (!isOwn(path)) return;
  QFile record(recordOf(path));
  const QByteArray text = pinned ? kPinned : "";
  if (!record.open(QIODevice::WriteOnly | QIODevice::Truncate) ||
      record.write(text) != text.size() || !record.flush())
    throw inputError(QString("%1 cannot be pinned: %2. Free some space, or copy the run elsewhere.")
                         .arg(QFileInfo(path).fileName(), record.errorString())
                         .toStdString());
}

QStringList RunFolder::ownNames() const {
  return QDir(path_ + kRecords).entryList(QDir::Files | QDir::Hidden, QDir::Name);
}

std::vector<RunFolder::Run> RunFolder::unpinnedRuns() const {
  std::vector<Run> runs;
  for (const QString& name : ownNames()) {
    const QString path = path_ + "/" + name;
    const QFileInfo file(path);
    if (!file.exists() || file.isSymLink() || isPinned(path)) continue;
    runs.push_back({name, bytesOf(path), file.lastModified()});
  }
  std::ranges::stable_sort(runs, {}, &Run::modified);
  return runs;
}

bool RunFolder::isInUse(const QString& path) const {
  const int fd = ::open(encoded(recordOf(path)).constData(), O_RDONLY | O_CLOEXEC);
  const RunHold asked(fd, path);
  return fd >= 0 && !lockRecord(fd, LOCK_EX | LOCK_NB);
}

std::vector<RunFolder::Run> RunFolder::runsBeyond(qint64 most_bytes) const {
  std::vector<Run> runs = unpinnedRuns(), beyond;
  if (most_bytes <= 0 || runs.empty()) return {};
  qint64 bytes = 0;
  for (const Run& run : runs) bytes += run.bytes;
  runs.pop_back();  // the newest stays, however large it is
  for (const Run& run : runs) {
    if (bytes <= most_bytes) break;
    if (isInUse(path_ + "/" + run.name)) continue;
    beyond.push_back(run);
    bytes -= run.bytes;
  }
  return beyond;
}

std::vector<RunFolder::Run> RunFolder::removeBeyond(qint64 most_bytes) {
  removeLeftovers();
  std::vector<Run> removed;
  for (const Run& run : runsBeyond(most_bytes))
    if (remove(run.name)) removed.push_back(run);
  return removed;
}

/// False when the run is in use, was pinned meanwhile, is being recorded or is not a trace.
bool RunFolder::remove(const QString& name) {
  const QString path = path_ + "/" + name, record = recordOf(path);
  const int fd = ::open(encoded(record).constData(), O_RDONLY | O_CLOEXEC);
  const RunHold held(fd, path);
  if (fd < 0 || !lockRecord(fd, LOCK_EX | LOCK_NB) || isPinRecord(record)) return false;
  const QFileInfo run(path);
  if (run.isDir() && !run.isSymLink()) {
    if (!QDir(path).removeRecursively()) return false;
  } else if (run.exists()) {
    try {
      const std::string file = path.toStdString();
      const traces::RecordingLock nobody_records(file, traces::RecordingLock::File::kThere);
      traces::removeTrace(file);
    } catch (const Error&) {
      return false;
    }
  }
  ::unlink(encoded(record).constData());
  return true;
}

/// Removes records without a run, and the empty files of runs that never began.
void RunFolder::removeLeftovers() {
  for (const QString& name : ownNames()) {
    const QFileInfo run(path_ + "/" + name);
    if (!run.exists() || (run.isFile() && run.size() == 0)) remove(name);
  }
}

QString runsFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/runs";
}

}  // namespace ringscope::viz
