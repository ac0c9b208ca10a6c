// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QProcess>

namespace ringscope::viz {

/// Writes the opened recording as a page for browsers or as a report. Another process of the
/// window's program draws the file, so that the window goes on.
class ShareControl : public QObject {
  Q_OBJECT
 public:
  explicit ShareControl(QWidget* window);

  /// Returns the entries of a menu: share as a page, write a report.
  QList<QAction*> actions() { return {&share_, &report_}; }
  /// Sets the recording to share; empty when there is none.
  void setRecording(const QString& path);
  bool isRunning() const { return process_.state() != QProcess::NotRunning; }
  /// Stops drawing. No file is left.
  void stop();

 Q_SIGNALS:
  /// Reports what was written, or that it was stopped.
  void said(const QString& sentence);
  void failed(const QString& problem);
  /// A process has started or ended.
  void changed();

 private:
  void share();
  void report();
  /// A kind of file: the program's option, and the words of the file dialog.
  struct Kind {
    QString option, suffix, title, filter;
  };
  /// Asks for a file and starts the program with these options.
  void begin(const Kind& kind, const QStringList& more);
  void end(int code, QProcess::ExitStatus status);

  QWidget* window_;
  QString recording_;
  QAction share_, report_;
  QProcess process_;
  bool stopped_ = false;
};

}  // namespace ringscope::viz
