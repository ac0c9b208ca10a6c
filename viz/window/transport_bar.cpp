// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/transport_bar.h"

#include <QHBoxLayout>
#include <array>
#include <cmath>

namespace ringscope::viz {
namespace {

constexpr int kTicksPerMoment = 100;
constexpr std::array kSpeeds = {0.25, 0.5, 1.0, 2.0, 4.0, 8.0};

}  // namespace

QToolButton* TransportBar::button(const QString& text, const QString& name, const QString& tip) {
  auto* b = new QToolButton(this);
  b->setText(text);
  b->setAccessibleName(name);
  b->setToolTip(tip);
  b->setFocusPolicy(Qt::TabFocus);
  return b;
}

TransportBar::TransportBar(Hub& hub, QWidget* parent) : QWidget(parent), hub_(hub) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(20, 8, 24, 8);
  row->setSpacing(8);
  first_ = button("❙◀", "First ring step", "First ring step (Home)");
  back_ = button("◀", "Back one ring step", "Back one ring step (←)");
  play_ = button("", "Play", "Play or hold (Space)");
  play_->setCheckable(true);
  forward_ = button("▶", "On one ring step", "On one ring step (→)");
  last_ = button("▶❙", "Last ring step", "Last ring step (End)");
  play_->setMinimumWidth(72);
  speed_ = button("×1", "Speed", "Speed of the animation; a ring step takes 1.2 s at ×1 (+, −)");
  step_axis_ = button("ring step", "Ring step axis", "Every rank stands at the same ring step");
  time_axis_ = button("time", "Time axis", "One instant; ranks may be at different ring steps (T)");
  for (auto* axis : {step_axis_, time_axis_}) axis->setCheckable(true);
  follow_ = button("Follow live ●", "Follow live", "Keep the view at the newest ring step (F)");
  follow_->setCheckable(true);
  follow_->setMinimumWidth(104);
  step_axis_->setMinimumWidth(84);
  time_axis_->setMinimumWidth(56);
  place_ = new QLabel(this);
  place_->setMinimumWidth(280);
  scrub_ = new QSlider(Qt::Horizontal, this);
  scrub_->setAccessibleName("Ring step");
  for (QWidget* w : std::initializer_list<QWidget*>{first_, back_, play_, forward_, last_, speed_})
    row->addWidget(w);
  row->addSpacing(8);
  row->addWidget(place_);
  row->addWidget(step_axis_);
  row->addWidget(time_axis_);
  row->addSpacing(8);
  row->addWidget(scrub_, 1);
  row->addSpacing(8);
  row->addWidget(follow_);

  connect(first_, &QToolButton::clicked, &hub, [&hub] {
    hub.setFollowing(false);
    hub.setMoment(0, 0);
  });
  connect(last_, &QToolButton::clicked, &hub,
          [&hub] { hub.setMoment(static_cast<int>(hub.trace().moments().size()) - 1, 1); });
  connect(back_, &QToolButton::clicked, &hub, [&hub] { hub.move(-1); });
  connect(forward_, &QToolButton::clicked, &hub, [&hub] { hub.move(1); });
  connect(play_, &QToolButton::clicked, &hub, [&hub] { hub.setPlaying(!hub.playing()); });
  connect(speed_, &QToolButton::clicked, &hub, [&hub] {
    const auto at = std::find(kSpeeds.begin(), kSpeeds.end(), hub.speed());
    hub.setSpeed(at == kSpeeds.end() || at + 1 == kSpeeds.end() ? kSpeeds.front() : *(at + 1));
  });
  connect(step_axis_, &QToolButton::clicked, &hub, [&hub] { hub.setAxis(Axis::kRingStep); });
  connect(time_axis_, &QToolButton::clicked, &hub, [&hub] { hub.setAxis(Axis::kTime); });
  connect(follow_, &QToolButton::clicked, &hub, [&hub] { hub.setFollowing(!hub.following()); });
  connect(scrub_, &QSlider::valueChanged, &hub, [&hub](int value) {
    hub.setFollowing(false);
    hub.setMoment(value / kTicksPerMoment,
                  value % kTicksPerMoment / static_cast<double>(kTicksPerMoment));
  });
  connect(&hub, &Hub::cursorChanged, this, &TransportBar::refresh);
  connect(&hub, &Hub::stateChanged, this, &TransportBar::refresh);
  refresh();
}

void TransportBar::refresh() {
  const bool usable = !hub_.empty();
  for (QWidget* w : std::initializer_list<QWidget*>{first_, back_, play_, forward_, last_, scrub_})
    w->setEnabled(usable);
  play_->setText(hub_.playing() ? "❙❙ hold" : "▶ play");
  play_->setChecked(hub_.playing());
  speed_->setText("×" + QString::number(hub_.speed()));
  step_axis_->setChecked(hub_.axis() == Axis::kRingStep);
  time_axis_->setChecked(hub_.axis() == Axis::kTime);
  follow_->setChecked(hub_.following());
  follow_->setEnabled(hub_.live());
  place_->setText(usable ? QString::fromStdString(traces::describe(hub_.place()))
                         : QString("no ring step yet"));
  const QSignalBlocker quiet(scrub_);
  const auto moments = static_cast<int>(hub_.trace().moments().size());
  scrub_->setRange(0, std::max(0, moments * kTicksPerMoment - 1));
  scrub_->setSingleStep(kTicksPerMoment);
  scrub_->setPageStep(kTicksPerMoment * 4);
  const auto value =
      static_cast<int>((hub_.moment() + std::min(hub_.phase(), 0.99)) * kTicksPerMoment);
  // A move of less than a pixel is none, and drawing the slider costs as much as all packets.
  auto pixel = [&](int ticks) {
    return static_cast<std::int64_t>(ticks) * scrub_->width() / std::max(1, scrub_->maximum());
  };
  if (pixel(value) != pixel(scrub_->value()) || value % kTicksPerMoment == 0)
    scrub_->setValue(value);
}

}  // namespace ringscope::viz
