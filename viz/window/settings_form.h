// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "viz/scene/memory_estimate.h"
#include "viz/window/run_config.h"
#include "viz/window/settings_rows.h"

namespace ringscope::viz {

/// The settings of a run: model, text, mesh, attention, types; and the memory that a rank will
/// need. Balance, kernel and hops that the other settings rule out are grey in their lists and say
/// why.
class SettingsForm : public QWidget {
  Q_OBJECT
 public:
  explicit SettingsForm(QWidget* parent = nullptr);

  /// Without mistakes and trace, which are not settings of this form.
  /// Settings that the form does not show stay as setConfig() received them.
  RunConfig config() const;
  /// Shows every value as it is given, also a value that the form does not offer by itself.
  void setConfig(const RunConfig& config);
  /// Marks each setting that differs from the run on show and names that run's value. A null
  /// pointer removes all marks.
  void markDifferences(const traces::RunSpec* shown);
  /// Sets the command prefix of the machine that runs the next run. setConfig() leaves it alone.
  void setRunOn(const QString& prefix) { run_on_->setText(prefix); }
  std::int64_t queryHeads() const { return shape_.heads; }

 Q_SIGNALS:
  void changed();

 private:
  void makeAttentionBoxes();
  void chooseModel();
  void chooseText();
  void setModel(const QString& folder);
  void setText(const QStringList& files);
  void refresh();
  void refreshEstimate();
  void offerAllowed();

  RunConfig given_;
  QString model_path_;
  QStringList text_;
  ModelShape shape_;
  SettingsRows* rows_;
  QPushButton *model_, *text_button_;
  struct {
    QSpinBox *dp, *tp, *cp;
  } mesh_{};
  struct {
    QComboBox *strategy, *balance, *mask, *kernel, *p2p;
    QSpinBox* window;
    QLabel* window_label;
  } attention_{};
  QSpinBox* steps_;
  QComboBox *seq_len_, *launch_, *dtype_;
  TickBox* sinks_;
  QLineEdit* run_on_;
  QLabel* estimate_;
};

}  // namespace ringscope::viz
