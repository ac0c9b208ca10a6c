// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/run_folder.h"

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
#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

constexpr const char* kRecords = "/.windows";
constexpr const char* kPinned = "pinned\n";
constexpr int kMostOfOneSecond = 10'000;

[[noreturn]] void refuse(const QString& what, const QString& path, int error) {
  throw inputError(QString("%1: %2: %3. Free some space or check the permissions of the folder.")
                       .arg(what, path, std::generic_category().message(error).c_str())
                       .toStdString());
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

qint64 bytesFrom(const QString& path) {
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

bool isThere(const QString& path) {
  const QFileInfo file(path);
  return file.exists() || file.isSymLink();
}

bool isPinRecord(const QString& record) {
  QFile file(record);
  return file.open(QIODevice::ReadOnly) && file.read(qstrlen(kPinned)) == kPinned;
}

}  // namespace

RunFolder::RunFolder(const QString& path) : path_(QDir::cleanPath(path)) {}

QString RunFolder::recordFile(const QString& path) const {
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
    RunHold hold;
    const RunRecord::Make made = record(path).make(hold);
    if (made == RunRecord::Make::kTaken) continue;
    if (made == RunRecord::Make::kFailed) refuse(what, path_ + kRecords, errno);
    int error = isThere(path) ? EEXIST : 0;
    if (makes == Makes::kFile && error == 0) error = makeEmptyFile(path);
    if (error == 0) return hold;
    record(path).remove();
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
  if (recordFile(path).isEmpty()) return {};
  QDir().mkpath(path_ + kRecords);
  return record(path).adopt();
}

RunHold RunFolder::hold(const QString& path) const {
  return recordFile(path).isEmpty() ? RunHold() : record(path).share();
}

bool RunFolder::isOwn(const QString& path) const {
  const QString record = recordFile(path);
  return !record.isEmpty() && QFileInfo(record).isFile();
}

bool RunFolder::isPinned(const QString& path) const {
  return isOwn(path) && isPinRecord(recordFile(path));
}

void RunFolder::setPinned(const QString& path, bool pinned) {
  if (!isOwn(path)) return;
  QFile file(recordFile(path));
  const QByteArray text = pinned ? kPinned : "";
  if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) || file.write(text) != text.size() ||
      !file.flush())
    throw inputError(QString("%1 cannot be pinned: %2. Free some space, or copy the run elsewhere.")
                         .arg(QFileInfo(path).fileName(), file.errorString())
                         .toStdString());
}

QStringList RunFolder::ownNames() const {
  return QDir(path_ + kRecords).entryList(QDir::Files | QDir::Hidden, QDir::Name);
}

std::vector<RunFolder::Run> RunFolder::runs() const {
  std::vector<Run> runs;
  const QDir folder(path_);
  for (const QFileInfo& file :
       folder.entryInfoList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
    const QString path = path_ + "/" + file.fileName();
    const bool is_own = isOwn(path);
    if (!is_own && !file.isDir() && file.suffix() != "rscope") continue;
    if (file.isFile() && file.size() == 0) continue;
    runs.push_back({file.fileName(), 0, file.lastModified(), is_own, isPinned(path)});
  }
  return runs;
}

std::vector<RunFolder::Run> RunFolder::unpinnedRuns() const {
  std::vector<Run> runs;
  for (const QString& name : ownNames()) {
    const QString path = path_ + "/" + name;
    const QFileInfo file(path);
    if (!file.exists() || file.isSymLink() || isPinned(path)) continue;
    runs.push_back({name, bytesFrom(path), file.lastModified(), true, false});
  }
  std::ranges::stable_sort(runs, {}, &Run::modified);
  return runs;
}

std::vector<RunFolder::Run> RunFolder::runsBeyond(qint64 most_bytes) const {
  std::vector<Run> runs = unpinnedRuns(), beyond;
  if (most_bytes <= 0 || runs.empty()) return {};
  qint64 bytes = 0;
  for (const Run& run : runs) bytes += run.bytes;
  runs.pop_back();  // the newest stays, however large it is
  for (const Run& run : runs) {
    if (bytes <= most_bytes) break;
    if (record(path_ + "/" + run.name).seize().path().isEmpty()) continue;
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
  const QString path = path_ + "/" + name;
  const RunHold held = record(path).seize();
  if (held.path().isEmpty() || isPinned(path) || !removeFiles(path)) return false;
  record(path).remove();
  return true;
}

bool RunFolder::removeFiles(const QString& path) {
  const QFileInfo run(path);
  if (run.isDir() && !run.isSymLink()) return QDir(path).removeRecursively();
  if (!run.exists()) return true;
  try {
    const std::string file = path.toStdString();
    const traces::RecordingLock nobody_records(file, traces::RecordingLock::File::kThere);
    traces::removeTrace(file);
    QFile::remove(notesBeside(path));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void RunFolder::erase(const QString& path) {
  const QString name = QFileInfo(path).fileName();
  if (!isOwn(path))
    throw inputError(name.toStdString() + " is not a run of a window. Delete it in its folder.");
  const RunHold held = record(path).seize();
  if (held.path().isEmpty())
    throw inputError(name.toStdString() +
                     " is in use by a window. Open another recording, and delete it then.");
  if (!removeFiles(path))
    throw inputError(name.toStdString() +
                     " cannot be deleted. Check the permissions of its folder, and whether it is "
                     "still being recorded.");
  record(path).remove();
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
