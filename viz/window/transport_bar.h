// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QWidget>

#include "viz/kit/steady_button.h"
#include "viz/session/viewing.h"

namespace ringscope::viz {

/// Play, step, speed, scrub, the two axes and Follow live. Nothing moves when what they say
/// changes.
class TransportBar : public QWidget {
  Q_OBJECT
 public:
  explicit TransportBar(Viewing& viewing, QWidget* parent = nullptr);

 private:
  void makeControls();
  void connectControls();
  void refresh();
  void refreshScrubber();
  void refreshGroups();
  void fitPlace();
  SteadyButton* button(const QString& text, const QString& name, const QString& tip);

  Viewing& viewing_;
  SteadyButton *first_, *back_, *play_, *forward_, *last_, *speed_, *step_axis_, *time_axis_,
      *follow_;
  QComboBox* group_;
  QLabel* place_;
  QSlider* scrub_;
};

}  // namespace ringscope::viz
