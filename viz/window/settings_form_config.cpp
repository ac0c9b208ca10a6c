// SPDX-License-Identifier: GPL-3.0-or-later
// The settings of the form as the configuration of a run, and back.
#include <algorithm>
#include <limits>

#include "traces/format/schema/run_rules.h"
#include "viz/window/settings_form.h"

namespace ringscope::viz {
namespace {

template <traces::NamedEnum E>
E chosen(const QComboBox* box) {
  return traces::parse<E>(box->currentText().toStdString());
}

/// Shows the value of a recorded run, also where the form offers less: a box never shows another.
void setExactly(QSpinBox* box, std::int64_t value) {
  const auto exact = static_cast<int>(
      std::clamp<std::int64_t>(value, box->minimum(), std::numeric_limits<int>::max()));
  box->setMaximum(std::max(box->maximum(), exact));
  box->setValue(exact);
}

}  // namespace

RunConfig SettingsForm::config() const {
  RunConfig config = given_;
  config.mistakes.clear();
  config.trace.clear();
  config.model_dir = model_path_.toStdString();
  config.text.clear();
  for (const QString& file : text_) config.text.push_back(file.toStdString());
  config.dp = dp_->value();
  config.tp = tp_->value();
  config.cp = cp_->value();
  config.steps = steps_->value();
  config.seq_len = seq_len_->currentText().toLongLong();
  config.strategy = chosen<traces::Strategy>(strategy_);
  config.balance = chosen<traces::Balance>(balance_);
  config.mask = chosen<traces::MaskKind>(mask_);
  config.window = config.mask == traces::MaskKind::kWindow ? window_->value() : 0;
  config.dtype = chosen<traces::DType>(dtype_);
  config.sinks = sinks_->isChecked();
  config.kernel = chosen<traces::Kernel>(kernel_);
  config.p2p = chosen<traces::PointToPoint>(p2p_);
  config.launch = chosen<traces::Launch>(launch_);
  // What a kernel takes is a matter of the heads' size.
  config.model.layers = shape_.layers;
  config.model.heads = shape_.heads;
  config.model.kv_heads = shape_.kv_heads;
  config.model.head_dim = shape_.head_dim;
  // How many ranks share heads was chosen for another split.
  if (config.strategy != given_.strategy || config.cp != given_.cp) config.ulysses = 0;
  return config;
}

void SettingsForm::setConfig(const RunConfig& config) {
  given_ = config;
  const QString model = QString::fromStdString(config.model_dir);
  if (model != model_path_) setModel(model);
  QStringList files;
  for (const std::string& file : config.text) files << QString::fromStdString(file);
  setText(files);
  setExactly(dp_, config.dp);
  setExactly(tp_, config.tp);
  setExactly(cp_, config.cp);
  setExactly(steps_, config.steps);
  const QString seq_len = QString::number(config.seq_len);
  if (seq_len_->findText(seq_len) < 0) seq_len_->addItem(seq_len);
  seq_len_->setCurrentText(seq_len);
  strategy_->setCurrentText(name(config.strategy));
  balance_->setCurrentText(name(traces::chosenBalance(config)));
  mask_->setCurrentText(name(config.mask));
  if (config.window > 0) setExactly(window_, config.window);
  dtype_->setCurrentText(name(config.dtype));
  sinks_->setChecked(config.sinks);
  kernel_->setCurrentText(name(config.kernel));
  p2p_->setCurrentText(name(config.p2p));
  launch_->setCurrentText(name(config.launch));
}

}  // namespace ringscope::viz
