// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QWidget>

#include "viz/hub/hub.h"
#include "viz/link/engine_link.h"
#include "viz/window/run_config.h"

namespace ringscope::viz {

/// What is run: settings, mistakes, and the run's own controls. Shows the configuration of an
/// opened recording when there is no live run.
class RunPanel : public QWidget {
  Q_OBJECT
 public:
  RunPanel(Hub& hub, EngineLink& engine, QWidget* parent = nullptr);

  RunConfig config() const;
  void setConfig(const RunConfig& config);

 Q_SIGNALS:
  void runRequested();

 private:
  QComboBox* choice(const QString& name, const QStringList& options);
  void addRow(class QGridLayout* grid, const QString& name, QWidget* widget);
  void refresh();
  void showRecorded();

  Hub& hub_;
  EngineLink& engine_;
  QStringList text_;
  QLabel *model_, *text_label_, *transport_, *run_state_;
  QSpinBox *cp_, *steps_;
  QComboBox *seq_len_, *balance_, *mask_, *dtype_;
  QList<QCheckBox*> mistakes_;
  QLabel* injected_;
  QPushButton *run_, *pause_, *step_, *stop_;
};

}  // namespace ringscope::viz
