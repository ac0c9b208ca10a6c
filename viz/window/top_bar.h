// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "viz/kit/elided_label.h"
#include "viz/window/export_button.h"
#include "viz/window/runs_button.h"

namespace ringscope::viz {

/// The bar at the top of the window: the run in a few words, and what can be done with recordings.
class TopBar : public QWidget {
  Q_OBJECT
 public:
  TopBar(RunFolder& runs, QWidget* parent);

  ElidedLabel* headline() const { return headline_; }
  ExportButton* exporter() const { return export_; }
  RunsButton* runs() const { return runs_; }

 Q_SIGNALS:
  void openClicked();
  void themeClicked();

 private:
  ElidedLabel* headline_;
  ExportButton* export_;
  RunsButton* runs_;
};

}  // namespace ringscope::viz
