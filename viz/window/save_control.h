// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QProgressDialog>
#include <QTimer>
#include <atomic>
#include <memory>

#include "viz/window/history_control.h"

namespace ringscope::viz {

/// Save as: copies the recording on show whole, on a thread, to a place that the user chooses. A
/// copy that takes long shows its progress, and can be cancelled.
class SaveControl : public QObject {
  Q_OBJECT
 public:
  SaveControl(const WindowParts& parts, HistoryControl& history, QObject* parent);

  /// Asks for the place of the copy of the recording on show.
  void choose();
  void begin(const QString& from, const QString& to);
  bool isBusy() const { return watch_ != nullptr; }

 private:
  struct Watch {
    std::atomic<qint64> copied = 0, total = 0;
    std::atomic<bool> stopped = false;
  };
  void showProgress();
  void end(const QString& sentence);

  WindowParts parts_;
  HistoryControl& history_;
  QString to_;
  std::shared_ptr<Watch> watch_;  ///< of the copy under way; null: there is none
  std::unique_ptr<QProgressDialog> dialog_;
  QTimer ticks_;
  Background background_;
};

}  // namespace ringscope::viz
