// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QTextBrowser>

#include "viz/style/theme.h"
#include "viz/window/run_config.h"

namespace ringscope::viz {

/// The explanation of every mistake of the catalogue, and a run that makes it.
class MistakesDialog : public QDialog {
  Q_OBJECT
 public:
  /// `can_run`: this installation has the engine.
  MistakesDialog(bool can_run, const Theme& theme, QWidget* parent);

 Q_SIGNALS:
  /// Emitted with a run that makes the chosen mistake.
  void runRequested(const RunConfig& config);

 private:
  void fillList();
  void show(const QString& id);
  void run();

  QListWidget* list_;
  QTextBrowser* page_;
  QLabel* reason_;
  QPushButton* run_;
  bool can_run_;
  const Theme& theme_;
};

/// Returns the settings of the sample run with the changes that the mistake needs.
RunConfig runWithMistake(const QString& id);

}  // namespace ringscope::viz
