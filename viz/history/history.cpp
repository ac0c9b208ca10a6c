// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/history.h"

#include <QFileInfo>
#include <QMap>
#include <QRegularExpression>
#include <algorithm>

#include "viz/link/recording_path.h"

namespace ringscope::viz {
namespace {

/// Returns the settings in the name of a run of a window: its time is shown apart from the name.
QString ownName(const QString& file) {
  static const QRegularExpression kName(R"(^\d{4}-\d\d-\d\d \d\d-\d\d-\d\d (.+?)(\.rscope)?$)");
  const auto match = kName.match(file);
  return match.hasMatch() ? match.captured(1) : file;
}

QString fileName(const HistoryEntry& entry) {
  const QString name = recordingName(entry.path);
  return entry.is_own ? ownName(name) : name;
}

/// Adds the facts that the file system has about a recording.
void readFile(HistoryEntry& entry) {
  entry.is_remote = isOnOtherMachine(entry.path);
  if (entry.is_remote) return;
  const QFileInfo file(entry.path);
  entry.is_missing = !file.exists();
  if (entry.is_missing) return;
  entry.modified = file.lastModified();
  entry.bytes = file.isDir() ? 0 : file.size();
}

}  // namespace

std::vector<HistoryEntry> History::list() const {
  QMap<QString, HistoryEntry> found;
  for (const RunFolder::Run& run : runs_.runs()) {
    HistoryEntry& entry = found[entryPath(runs_.path() + "/" + run.name)];
    entry.is_own = run.is_own;
    entry.pinned = run.pinned;
  }
  for (const RecordingLog::Entry& logged : log_.list()) {
    // A run that was deleted is no missing recording: its name in the log is left over.
    const bool was_own = QFileInfo(logged.path).path() == entryPath(runs_.path());
    if (was_own && !found.contains(logged.path)) continue;
    HistoryEntry& entry = found[logged.path];
    entry.name = logged.name;
    entry.used = logged.opened;
    entry.pinned = entry.pinned || logged.pinned;
  }
  std::vector<HistoryEntry> entries;
  for (auto at = found.begin(); at != found.end(); ++at) {
    HistoryEntry entry = *at;
    entry.path = at.key();
    if (entry.name.isEmpty()) entry.name = fileName(entry);
    readFile(entry);
    if (!entry.used.isValid() || (entry.modified.isValid() && entry.modified > entry.used))
      entry.used = entry.modified;
    entries.push_back(entry);
  }
  std::ranges::stable_sort(entries, [](const HistoryEntry& a, const HistoryEntry& b) {
    if (a.pinned != b.pinned) return a.pinned;
    const auto time = [](const HistoryEntry& entry) {
      return entry.modified.isValid() ? entry.modified : entry.used;
    };
    return time(a) > time(b);
  });
  return entries;
}

std::vector<HistoryEntry> History::recent(std::size_t most) const {
  std::vector<HistoryEntry> entries = list();
  std::erase_if(entries, [](const HistoryEntry& entry) { return entry.is_missing; });
  std::ranges::stable_sort(entries, std::greater(), &HistoryEntry::used);
  if (entries.size() > most) entries.resize(most);
  return entries;
}

void History::rename(HistoryEntry& entry, const QString& name) {
  log_.setName(entry.path, name);
  entry.name = !name.isEmpty() ? name.trimmed() : fileName(entry);
}

void History::setPinned(const HistoryEntry& entry, bool pinned) {
  if (entry.is_own) return runs_.setPinned(entry.path, pinned);
  log_.setPinned(entry.path, pinned);
}

void History::remove(const HistoryEntry& entry) {
  if (entry.is_own) runs_.erase(entry.path);
  log_.forget(entry.path);
}

}  // namespace ringscope::viz
