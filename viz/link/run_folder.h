// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDateTime>
#include <QString>
#include <QStringList>
#include <vector>

#include "viz/link/run_record.h"

namespace ringscope::viz {

/// The folder in which all windows of a user keep the runs that they record. A run gets a name of
/// its own, and no run is ever written over. A record in a hidden subfolder marks each run that a
/// window made; a file without a record belongs to the user and is never removed.
///
/// Runs are removed by one rule: while the unpinned runs take more than a limit, the oldest goes.
/// A pinned run, a run that any window has in use, and the newest run stay.
class RunFolder {
 public:
  explicit RunFolder(const QString& path);
  const QString& path() const { return path_; }

  /// Makes an empty file for a new run, such as "2026-11-27 14-03-22 ring cp4 causal.rscope".
  /// Throws inputError when the folder cannot be written.
  RunHold makeRun(const QString& settings, const QDateTime& now);
  /// Reserves the name of a folder for a job's recording, which whoever records makes. Throws
  /// inputError when the folder cannot be written.
  RunHold reserveJob(const QDateTime& now);
  /// Records that a window made this recording, and holds it. An empty hold when the recording lies
  /// elsewhere.
  RunHold adopt(const QString& path);
  /// Holds a run that a window made; an empty hold for any other file.
  RunHold hold(const QString& path) const;

  /// Reports whether a window made this run.
  bool isOwn(const QString& path) const;
  bool isPinned(const QString& path) const;
  /// Throws inputError when the pin cannot be written.
  void setPinned(const QString& path, bool pinned);

  struct Run {
    QString name;
    qint64 bytes = 0;
    QDateTime modified;
    bool is_own = true;  ///< a window made it
    bool pinned = false;
  };
  /// Returns all runs of windows and all recordings that the user put into the folder. The sizes
  /// are not counted, and runs that never began are left out.
  std::vector<Run> runs() const;
  /// The unpinned runs that windows made, the oldest first.
  std::vector<Run> unpinnedRuns() const;
  /// The runs that the rule removes under this limit, the oldest first; a limit of 0 removes none.
  std::vector<Run> runsBeyond(qint64 most_bytes) const;
  /// Removes them, and the empty files of runs that never began. Returns what was removed.
  std::vector<Run> removeBeyond(qint64 most_bytes);
  /// Removes one run that a window made, pinned or not. Throws inputError when a window has it in
  /// use, it is being recorded, or it cannot be removed.
  void erase(const QString& path);

 private:
  enum class Makes { kFile, kNothing };
  RunHold reserve(const QString& stem, const QString& extension, Makes makes);
  QString recordFile(const QString& path) const;
  RunRecord record(const QString& path) const { return {recordFile(path), path}; }
  QStringList ownNames() const;
  bool remove(const QString& name);
  bool removeFiles(const QString& path);
  void removeLeftovers();

  QString path_;
};

/// The folder of this user's windows.
QString runsFolder();

}  // namespace ringscope::viz
