// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>
#include <QWidget>

#include "viz/kit/elided_label.h"
#include "viz/link/job_link.h"

namespace ringscope::viz {

/// The bar of a job: its state, buttons that hold it or let it go on, and the waiting ranks.
class JobBar : public QWidget {
  Q_OBJECT
 public:
  explicit JobBar(JobLink& job, QWidget* parent = nullptr);

  /// Whether the stage shows the job: something else may have been opened.
  void setShown(bool shown);
  /// The colour of what is wrong.
  void setWarning(const QColor& color);

 Q_SIGNALS:
  void showRequested();

 private:
  void refresh();

  JobLink& job_;
  ElidedLabel *state_, *waits_;
  QToolButton *pause_, *step_, *show_;
};

}  // namespace ringscope::viz
