// SPDX-License-Identifier: GPL-3.0-or-later
// Which parts of the main window are shown and in which theme, and what is kept of that from window
// to window.
#include <QApplication>
#include <QSettings>

#include "viz/style/palette.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {
namespace {

constexpr const char* kLanesView = "timeline";
constexpr double kPresenterZoom = 1.6;

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

void MainWindow::saveSettings(QSettings& settings) const {
  settings.setValue("window/geometry", saveGeometry());
  settings.setValue("window/run_panel", shows_run_panel_);
  settings.setValue("window/inspector", shows_inspector_);
  settings.setValue("runs/most_bytes", runs_button_->limit());
  if (chosen_theme_) settings.setValue("window/theme", chosen_theme_->name);
  panes_->save(settings);
}

void MainWindow::restoreSettings(const QSettings& settings) {
  restoreGeometry(settings.value("window/geometry").toByteArray());
  shows_run_panel_ = settings.value("window/run_panel", true).toBool();
  shows_inspector_ = settings.value("window/inspector", true).toBool();
  bool is_number = false;
  const qint64 limit = settings.value("runs/most_bytes").toLongLong(&is_number);
  runs_button_->setLimit(is_number ? limit : RunsButton::kDefaultLimit);
  const QString theme = settings.value("window/theme").toString();
  for (const Theme& known : Theme::all())
    if (known.name == theme) chosen_theme_ = &known;
  if (chosen_theme_) setTheme(*chosen_theme_);
  panes_->restore(settings);
  refreshPanels();
}

void MainWindow::chooseNextTheme() {
  const auto& all = Theme::all();
  const auto at = static_cast<std::size_t>(theme_ - all.data());
  chosen_theme_ = &all[(at + 1) % all.size()];
  setTheme(*chosen_theme_);
  Q_EMIT settingsChanged();
}

void MainWindow::setTheme(const Theme& theme) {
  theme_ = &theme;
  QApplication::setPalette(makePalette(theme));  // dialogs and menus are windows of their own
  const double zoom = presenting_ ? kPresenterZoom : 1;
  setStyleSheet(themeStyleSheet(theme, zoom) +
                QString("QWidget#separator { background: %1; }").arg(theme.line.name()));
  for (View* view : views_) {
    view->setZoom(zoom);
    view->setTheme(theme);
  }
  job_bar_->setWarning(theme.wrong);
  refreshStatus();
}

}  // namespace ringscope::viz
