// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_name.h"

#include <QDir>
#include <QStringList>

#include "traces/plan/run_rules.h"

namespace ringscope::viz {

QString runName(const RunConfig& config) {
  QStringList words{name(config.strategy)};
  if (config.dp > 1) words << QString("dp%1").arg(config.dp);
  if (config.tp > 1) words << QString("tp%1").arg(config.tp);
  words << QString("cp%1").arg(config.cp) << name(traces::chosenBalance(config));
  const bool has_window = config.mask == traces::MaskKind::kWindow;
  words << name(config.mask) + (has_window ? QString::number(config.window) : QString());
  if (config.dtype != traces::DType::kFloat32) words << name(config.dtype);
  if (!config.model_dir.empty()) words << QDir(QString::fromStdString(config.model_dir)).dirName();
  return words.join(' ');
}

}  // namespace ringscope::viz
