// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "viz/kit/elided_label.h"

namespace ringscope::viz {

/// The last line of the window. The left has the state of the run. The right has a sentence about
/// the cursor, or else the last problem, or else the file.
class StatusLine : public QWidget {
  Q_OBJECT
 public:
  explicit StatusLine(QWidget* parent);

  void setRun(const QString& words) { run_->setText(words); }
  void setFile(const QString& words);
  /// Says what was found at the place to which the cursor was led; empty when it went on.
  void tell(const QString& sentence);
  void setProblem(const QString& problem);
  /// Forgets the sentence and the problem.
  void clear();
  /// Sets the colour of problems.
  void setWarning(const QColor& color);

 private:
  void refresh();

  ElidedLabel *run_, *said_;
  QString told_, problem_, file_;
  QColor warning_;
};

}  // namespace ringscope::viz
