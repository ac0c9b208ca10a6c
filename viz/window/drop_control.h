// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/history_control.h"

class QMimeData;

namespace ringscope::viz {

/// Files and folders that are dropped on the window: the first one is opened, and a second one is
/// compared with it.
class DropControl : public QObject {
  Q_OBJECT
 public:
  /// `window` takes the drops.
  DropControl(const WindowParts& parts, RecordingControl& recordings, HistoryControl& history,
              QWidget* window);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void take(const QMimeData& dropped);
  void tellFailure();

  WindowParts parts_;
  RecordingControl& recordings_;
  HistoryControl& history_;
  QString compared_;  ///< the dropped recording that is compared
};

}  // namespace ringscope::viz
