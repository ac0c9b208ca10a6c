// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/beside_control.h"

namespace ringscope::viz {

/// Opens recordings: reads a file on a worker thread, and shows it, or says why it cannot.
class RecordingControl : public QObject {
  Q_OBJECT
 public:
  RecordingControl(const WindowParts& parts, QObject* parent);

  void open(const QString& path);
  /// Drops the file that is being read.
  void cancel() { background_.cancel("open"); }
  void chooseFile();

 Q_SIGNALS:
  /// A recording takes the place of what is on show.
  void taking();
  /// The file asked for last is shown, or could not be opened.
  void opened(const QString& failure);

 private:
  void show(const std::shared_ptr<RecordedFile>& file, const QString& path, RunHold hold);

  WindowParts parts_;
  Background background_;
};

}  // namespace ringscope::viz
