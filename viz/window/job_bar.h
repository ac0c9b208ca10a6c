// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>
#include <QWidget>

#include "viz/kit/elided_label.h"
#include "viz/link/job_link.h"

namespace ringscope::viz {

/// The bar of a live job: its state, the buttons "Pause", "Next step" and "Show job", and the ranks
/// that wait for others. It hides itself when nothing listens for jobs.
class JobBar : public QWidget {
  Q_OBJECT
 public:
  explicit JobBar(JobLink& job, QWidget* parent = nullptr);

  /// Hides the button "Show job" while the stage shows the job.
  void setJobOnStage(bool on_stage);
  /// Sets the colour of the line about waiting ranks.
  void setWarningColor(const QColor& color);

 Q_SIGNALS:
  /// Emitted when the user clicks "Show job".
  void showRequested();

 private:
  void refresh();

  JobLink& job_;
  ElidedLabel *state_, *waits_;
  QToolButton *pause_, *step_, *show_;
};

}  // namespace ringscope::viz
