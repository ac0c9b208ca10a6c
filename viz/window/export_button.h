// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMenu>
#include <QTimer>
#include <QToolButton>
#include <atomic>
#include <memory>

#include "viz/session/background.h"
#include "viz/window/share_control.h"

namespace ringscope::viz {

/// Writes the opened recording for other programs and people, off the window's thread: a menu of
/// formats, a file dialog, then how much is written. Pressed again it stops, and no file is left.
class ExportButton : public QToolButton {
  Q_OBJECT
 public:
  explicit ExportButton(QWidget* parent = nullptr);
  /// Sets the recording to export; empty when there is none.
  void setRecording(const QString& path);
  /// Opens the menu, or stops what is under way.
  void press();
  /// Returns the entries of the menu. They are enabled while an export can begin.
  QList<QAction*> formats() const { return menu_.actions(); }

 Q_SIGNALS:
  /// Reports the result or the progress of an export.
  void said(const QString& sentence);
  void failed(const QString& problem);

 private:
  struct Watch {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<bool> stopped = false;
  };
  void choose(const QString& format, const QString& extension);
  void begin(const QString& format, const QString& output);
  void end();
  void showState();
  bool isBusy() const { return watch_ || share_.isRunning(); }

  QMenu menu_;
  ShareControl share_;
  QString recording_, output_;
  std::shared_ptr<Watch> watch_;  ///< of what is under way; null: nothing is
  QTimer progress_;
  Background background_;
};

}  // namespace ringscope::viz
