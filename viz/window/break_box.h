// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QWidget>

#include "traces/exchange/control/requests.h"

namespace ringscope::viz {

/// The choice of the place at which a live run stops by itself.
class BreakBox : public QWidget {
  Q_OBJECT
 public:
  explicit BreakBox(QWidget* parent = nullptr);

  traces::control::Break request() const;
  void setRanges(int layers, int ring_steps);

 Q_SIGNALS:
  void changed();

 private:
  QComboBox *layer_, *direction_, *ring_step_;
  QCheckBox *at_place_, *on_divergence_;
};

}  // namespace ringscope::viz
