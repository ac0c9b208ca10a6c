// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/history_model.h"
#include "viz/window/recording_control.h"

namespace ringscope::viz {

/// The history of runs and recordings: notes what is opened, shows the page, and does what the
/// user asks of it there. Also fills the recent recordings of the start page.
class HistoryControl : public QObject {
  Q_OBJECT
 public:
  HistoryControl(const WindowParts& parts, RecordingControl& recordings, QObject* parent);

  /// Opens the page, or closes it when it is open.
  void toggle();
  void close();
  /// Opens the first recording and compares it with the second in the Compare view. `first` is
  /// empty for the recording on show.
  void compare(const QString& first, const QString& second);
  /// Notes that the user opened or saved this recording.
  void note(const QString& path);
  /// Reads the list again wherever it is on show.
  void reload();
  /// A window that only draws a picture does not remember what it opened.
  void setRemembering(bool remembering) { remembers_ = remembering; }
  /// Reports whether every recording on the page has its picture and verdict.
  bool isReady() const { return !digests_.isBusy(); }

 private:
  void connectPage();
  void remember(const QString& failure);
  void pin(const HistoryEntry& entry);
  void remove(const QList<HistoryEntry>& entries);
  void showFolder(const QString& path);
  void showRecent();
  QString recordedNow() const;

  WindowParts parts_;
  RecordingControl& recordings_;
  History history_;
  DigestStore digests_;
  HistoryModel model_;
  struct {
    QString first, second;
  } pair_;  ///< compared as soon as the first one is on show
  bool remembers_ = true;
};

}  // namespace ringscope::viz
