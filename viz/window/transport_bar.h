// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QWidget>

#include "viz/hub/hub.h"

namespace ringscope::viz {

/// Play, step, speed, scrub, the two axes and Follow live.
class TransportBar : public QWidget {
  Q_OBJECT
 public:
  explicit TransportBar(Hub& hub, QWidget* parent = nullptr);

 private:
  void refresh();
  QToolButton* button(const QString& text, const QString& name, const QString& tip);

  Hub& hub_;
  QToolButton *first_, *back_, *play_, *forward_, *last_, *speed_, *step_axis_, *time_axis_,
      *follow_;
  QLabel* place_;
  QSlider* scrub_;
};

}  // namespace ringscope::viz
