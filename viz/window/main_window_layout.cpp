// SPDX-License-Identifier: GPL-3.0-or-later
// Which parts of the main window are shown, and what is kept of that from window to window.
#include <QSettings>

#include "viz/window/main_window.h"

namespace ringscope::viz {
namespace {

constexpr const char* kLanesView = "timeline";

}  // namespace

void MainWindow::setPresenting(bool presenting) {
  presenting_ = presenting;
  top_bar_->setVisible(!presenting);
  refreshPanels();
  setTheme(*theme_);
  const auto state = windowState();
  setWindowState(presenting ? state | Qt::WindowFullScreen : state & ~Qt::WindowFullScreen);
}

/// A comparison's two stages need the inspector's room, and the Timeline view has a panel and lanes
/// of its own.
void MainWindow::refreshPanels() {
  const bool lanes = stage_->shown() == kLanesView;
  left_->setVisible(shows_run_panel_ && !presenting_);
  right_->setVisible(shows_inspector_ && !presenting_ && compare_->isHidden() && !lanes);
  panes_->showTimeline(!presenting_ && !lanes);
  panes_->partsChanged();
}

void MainWindow::saveLayout(QSettings& settings) const {
  settings.setValue("window/geometry", saveGeometry());
  settings.setValue("window/run_panel", shows_run_panel_);
  settings.setValue("window/inspector", shows_inspector_);
  panes_->save(settings);
}

void MainWindow::restoreLayout(const QSettings& settings) {
  restoreGeometry(settings.value("window/geometry").toByteArray());
  shows_run_panel_ = settings.value("window/run_panel", true).toBool();
  shows_inspector_ = settings.value("window/inspector", true).toBool();
  panes_->restore(settings);
  refreshPanels();
}

}  // namespace ringscope::viz
