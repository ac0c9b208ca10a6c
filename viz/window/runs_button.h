// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMenu>
#include <QToolButton>

#include "viz/link/run_folder.h"

namespace ringscope::viz {

/// A menu of what becomes of recorded runs: pins the run on show, and sets how much the unpinned
/// runs may take before the oldest is removed.
class RunsButton : public QToolButton {
  Q_OBJECT
 public:
  /// The limit of a user who has chosen none.
  static constexpr qint64 kDefaultLimit = qint64{5} << 30;

  explicit RunsButton(RunFolder& runs, QWidget* parent = nullptr);

  /// The run on show; empty while there is none.
  void setRun(const QString& path) { run_ = path; }
  /// In bytes; 0: every run is kept.
  qint64 limit() const { return limit_; }
  void setLimit(qint64 bytes) { limit_ = std::max(qint64{0}, bytes); }

 Q_SIGNALS:
  /// The user asks for the list of all runs.
  void historyRequested();
  /// The user asks for a copy of the recording on show.
  void saveRequested();
  void limitChosen();
  void said(const QString& sentence);
  void failed(const QString& problem);

 private:
  void fill();
  void fillLimits();
  void pin(bool pinned);

  RunFolder& runs_;
  QMenu menu_, limits_;
  QString run_;
  qint64 limit_ = kDefaultLimit;
};

/// "5.0 GiB", or "all runs" without a limit.
QString describeLimit(qint64 bytes);

}  // namespace ringscope::viz
