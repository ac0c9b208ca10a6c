// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDateTime>
#include <QString>
#include <functional>
#include <vector>

namespace ringscope::viz {

/// The recordings that a user opened from anywhere, and the names and pins that the user gave to
/// recordings. All windows of a user share one file, which each change reads again under a lock.
class RecordingLog {
 public:
  /// `file` is the JSON file of the log. It need not exist yet.
  explicit RecordingLog(QString file) : file_(std::move(file)) {}

  struct Entry {
    QString path;
    QDateTime opened;  ///< invalid when the user never opened it
    QString name;      ///< the user's name for it; empty: it has its file's name
    bool pinned = false;
  };
  /// Returns the recordings in the order in which they came into the log.
  std::vector<Entry> list() const;

  /// The following throw inputError when the log cannot be written.
  void setOpened(const QString& path, const QDateTime& now);
  void setName(const QString& path, const QString& name);
  void setPinned(const QString& path, bool pinned);
  /// Removes a recording from the log. The recording itself stays.
  void forget(const QString& path);

 private:
  void change(const std::function<void(std::vector<Entry>&)>& edit);

  QString file_;
};

/// Returns one spelling of a path, so that a recording has one entry. An address on another machine
/// stays as it is.
QString entryPath(const QString& path);

/// The log of this user's windows.
QString recordingLogFile();

}  // namespace ringscope::viz
