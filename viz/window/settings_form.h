// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QWidget>

#include "viz/kit/tick_box.h"
#include "viz/scene/memory_estimate.h"
#include "viz/window/run_config.h"

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
  std::int64_t queryHeads() const { return shape_.heads; }

 Q_SIGNALS:
  void changed();

 private:
  QComboBox* choice(const QString& name, const QStringList& options);
  QSpinBox* number(const QString& name, int most, int value);
  TickBox* tick(const QString& text, const QString& name, const QString& explanation);
  QPushButton* picker(const QString& name);
  /// Widgets side by side; returns the row's label.
  QLabel* addRow(const QString& name, const QList<QWidget*>& widgets);
  void mark(QWidget* box, const QString& shown_value);
  void markRows();
  QString describeShownText(const traces::RunSpec& shown) const;
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
  QGridLayout* grid_;
  struct Row {
    QLabel* mark;
    QList<QWidget*> boxes;
  };
  QList<Row> rows_;
  QPushButton *model_, *text_button_;
  QSpinBox *dp_, *tp_, *cp_, *steps_, *window_;
  QComboBox *seq_len_, *strategy_, *balance_, *mask_, *kernel_, *p2p_, *launch_, *dtype_;
  TickBox* sinks_;
  QLabel *window_label_ = nullptr, *estimate_;
};

}  // namespace ringscope::viz
