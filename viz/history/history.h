// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/history/recording_log.h"
#include "viz/link/run_folder.h"

namespace ringscope::viz {

/// One run or recording that the user can find again.
struct HistoryEntry {
  QString path;
  QString name;         ///< the user's name for it, or its file's name
  QDateTime modified;   ///< when it was recorded; invalid for a recording that is missing
  QDateTime used;       ///< when it was recorded or last opened
  qint64 bytes = 0;     ///< of a file; 0 for a folder, whose size is not counted here
  bool is_own = false;  ///< a window made it, in the folder of runs
  bool is_remote = false;
  bool is_missing = false;
  bool pinned = false;
};

/// All runs of the folder of runs and all recordings that the user opened, each once. RunFolder
/// owns the list of runs, and RecordingLog the list of opened recordings.
class History {
 public:
  History(RunFolder& runs, RecordingLog log) : runs_(runs), log_(std::move(log)) {}

  /// Returns the pinned entries first, and the newest first among them and among the others.
  std::vector<HistoryEntry> list() const;
  /// Returns the entries that were used last, without those that are missing.
  std::vector<HistoryEntry> recent(std::size_t most) const;

  /// The following throw inputError when the change cannot be written.
  void setOpened(const QString& path, const QDateTime& now) { log_.setOpened(path, now); }
  /// Gives a recording a name of the user's. An empty name gives back the name of the file.
  void rename(HistoryEntry& entry, const QString& name);
  void setPinned(const HistoryEntry& entry, bool pinned);
  /// Deletes a run of a window from the disk, and removes any other recording from the list only.
  void remove(const HistoryEntry& entry);

 private:
  RunFolder& runs_;
  RecordingLog log_;
};

}  // namespace ringscope::viz
