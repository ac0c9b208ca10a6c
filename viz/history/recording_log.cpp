// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/recording_log.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>

#include "traces/format/core/error.h"
#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

constexpr int kLockMs = 2000;
constexpr std::size_t kMostEntries = 500;

using Entry = RecordingLog::Entry;

QJsonObject toJson(const Entry& entry) {
  return {{"path", entry.path},
          {"opened", entry.opened.toUTC().toString(Qt::ISODate)},
          {"name", entry.name},
          {"pinned", entry.pinned}};
}

Entry parseEntry(const QJsonObject& json) {
  return {json["path"].toString(),
          QDateTime::fromString(json["opened"].toString(), Qt::ISODate).toLocalTime(),
          json["name"].toString(), json["pinned"].toBool()};
}

bool isWanted(const Entry& entry) {
  return entry.opened.isValid() || entry.pinned || !entry.name.isEmpty();
}

/// Drops the recordings that were opened longest ago, but none with a name or a pin.
void limit(std::vector<Entry>& entries) {
  while (entries.size() > kMostEntries) {
    auto oldest = entries.end();
    for (auto at = entries.begin(); at != entries.end(); ++at)
      if (!at->pinned && at->name.isEmpty() &&
          (oldest == entries.end() || at->opened < oldest->opened))
        oldest = at;
    if (oldest == entries.end()) return;
    entries.erase(oldest);
  }
}

Entry& entryFor(std::vector<Entry>& entries, const QString& path) {
  const auto found = std::ranges::find(entries, path, &Entry::path);
  if (found != entries.end()) return *found;
  entries.push_back({path, {}, {}, false});
  return entries.back();
}

}  // namespace

std::vector<Entry> RecordingLog::list() const {
  QFile file(file_);
  if (!file.open(QIODevice::ReadOnly)) return {};
  std::vector<Entry> entries;
  const QJsonArray listed = QJsonDocument::fromJson(file.readAll()).array();
  for (const auto value : listed)
    if (Entry entry = parseEntry(value.toObject()); !entry.path.isEmpty())
      entries.push_back(std::move(entry));
  return entries;
}

void RecordingLog::change(const std::function<void(std::vector<Entry>&)>& edit) {
  QDir().mkpath(QFileInfo(file_).path());
  QLockFile lock(file_ + ".lock");
  const bool locked = lock.tryLock(kLockMs);
  std::vector<Entry> entries = list();
  edit(entries);
  std::erase_if(entries, [](const Entry& entry) { return !isWanted(entry); });
  limit(entries);
  QJsonArray array;
  for (const Entry& entry : entries) array.append(toJson(entry));
  QSaveFile file(file_);
  if (locked && file.open(QIODevice::WriteOnly) && file.write(QJsonDocument(array).toJson()) >= 0 &&
      file.commit())
    return;
  throw inputError(QString("%1: the list of recordings cannot be written: %2. Free some space or "
                           "check the permissions of the folder.")
                       .arg(file_, locked ? file.errorString() : "another window holds its lock")
                       .toStdString());
}

void RecordingLog::setOpened(const QString& path, const QDateTime& now) {
  change([&](auto& entries) { entryFor(entries, entryPath(path)).opened = now; });
}

void RecordingLog::setName(const QString& path, const QString& name) {
  change([&](auto& entries) { entryFor(entries, entryPath(path)).name = name.trimmed(); });
}

void RecordingLog::setPinned(const QString& path, bool pinned) {
  change([&](auto& entries) { entryFor(entries, entryPath(path)).pinned = pinned; });
}

void RecordingLog::forget(const QString& path) {
  change([&](auto& entries) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.path == entryPath(path); });
  });
}

QString entryPath(const QString& path) {
  return isOnOtherMachine(path) ? path : QDir::cleanPath(QFileInfo(path).absoluteFilePath());
}

QString recordingLogFile() {
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recordings.json";
}

}  // namespace ringscope::viz
