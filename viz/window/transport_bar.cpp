// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/transport_bar.h"

#include <QHBoxLayout>
#include <array>
#include <cmath>

#include "viz/scene/groups.h"

namespace ringscope::viz {
namespace {

constexpr int kTicksPerMoment = 100;
constexpr const char *kPlay = "▶ play", *kHold = "❙❙ hold";
constexpr std::array kSpeeds = {0.25, 0.5, 1.0, 2.0, 4.0, 8.0};

QString speedText(double speed) {
  return "×" + QString::number(speed);
}

}  // namespace

SteadyButton* TransportBar::button(const QString& text, const QString& name, const QString& tip) {
  auto* b = new SteadyButton(this);
  b->setText(text);
  b->setAccessibleName(name);
  b->setToolTip(tip);
  b->setFocusPolicy(Qt::TabFocus);
  return b;
}

TransportBar::TransportBar(Viewing& viewing, QWidget* parent) : QWidget(parent), viewing_(viewing) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  makeControls();
  connectControls();
  refreshGroups();
  refresh();
}

void TransportBar::makeControls() {
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
  play_->setAllTexts({kPlay, kHold});
  speed_ = button("×1", "Speed", "Speed of the animation; a ring step takes 1.2 s at ×1 (+, −)");
  QStringList speeds;
  for (const double speed : kSpeeds) speeds << speedText(speed);
  speed_->setAllTexts(speeds);
  step_axis_ = button("ring step", "Ring step axis", "Every rank stands at the same ring step");
  time_axis_ = button("time", "Time axis", "One instant; ranks may be at different ring steps (T)");
  for (auto* axis : {step_axis_, time_axis_}) axis->setCheckable(true);
  follow_ = button("Follow live ●", "Follow live", "Keep the view at the newest ring step (F)");
  follow_->setCheckable(true);
  follow_->setMinimumWidth(104);
  step_axis_->setMinimumWidth(84);
  time_axis_->setMinimumWidth(56);
  group_ = new QComboBox(this);
  group_->setAccessibleName("Group");
  group_->setToolTip("The ranks that are shown: those of one group share a sequence (G)");
  place_ = new QLabel(this);
  place_->setMinimumWidth(280);
  scrub_ = new QSlider(Qt::Horizontal, this);
  scrub_->setAccessibleName("Ring step");
  for (QWidget* w : std::initializer_list<QWidget*>{first_, back_, play_, forward_, last_, speed_})
    row->addWidget(w);
  row->addSpacing(8);
  row->addWidget(group_);
  row->addWidget(place_);
  row->addWidget(step_axis_);
  row->addWidget(time_axis_);
  row->addSpacing(8);
  row->addWidget(scrub_, 1);
  row->addSpacing(8);
  row->addWidget(follow_);
}

void TransportBar::connectControls() {
  Player& player = viewing_.player;
  Navigator& navigator = viewing_.navigator;
  auto on = [this](QToolButton* b, auto action) {
    connect(b, &QToolButton::clicked, this, action);
  };
  on(first_, [&] {
    player.setFollowing(false);
    navigator.setMoment(0, 0);
  });
  on(last_, [&] { player.goToHead(); });
  on(back_, [&] { navigator.move(-1); });
  on(forward_, [&] { navigator.move(1); });
  on(play_, [&] { player.setPlaying(!player.playing()); });
  on(speed_, [&] {
    const auto at = std::find(kSpeeds.begin(), kSpeeds.end(), player.speed());
    player.setSpeed(at == kSpeeds.end() || at + 1 == kSpeeds.end() ? kSpeeds.front() : *(at + 1));
  });
  on(step_axis_, [&] { navigator.setAxis(Axis::kRingStep); });
  on(time_axis_, [&] { navigator.setAxis(Axis::kTime); });
  on(follow_, [&] { player.setFollowing(!player.following()); });
  connect(scrub_, &QSlider::valueChanged, this, [&](int value) {
    player.setFollowing(false);
    navigator.setMoment(value / kTicksPerMoment,
                        value % kTicksPerMoment / static_cast<double>(kTicksPerMoment));
  });
  connect(group_, &QComboBox::currentIndexChanged, this,
          [&](int group) { navigator.setGroup(group); });
  connect(&navigator, &Navigator::cursorChanged, this, &TransportBar::refresh);
  connect(&player, &Player::changed, this, &TransportBar::refresh);
  connect(&viewing_.session, &Session::dataChanged, this, &TransportBar::refreshGroups);
  connect(&viewing_.session, &Session::dataChanged, this, &TransportBar::refresh);
  connect(&viewing_.session, &Session::stateChanged, this, &TransportBar::refresh);
}

void TransportBar::refresh() {
  const Player& player = viewing_.player;
  const Navigator& navigator = viewing_.navigator;
  const bool usable = !viewing_.session.trace().moments().empty();
  for (QWidget* w : std::initializer_list<QWidget*>{first_, back_, play_, forward_, last_, scrub_})
    w->setEnabled(usable);
  play_->setText(player.playing() ? kHold : kPlay);
  play_->setChecked(player.playing());
  speed_->setText(speedText(player.speed()));
  step_axis_->setChecked(navigator.cursor().axis == Axis::kRingStep);
  time_axis_->setChecked(navigator.cursor().axis == Axis::kTime);
  follow_->setChecked(player.following());
  follow_->setEnabled(viewing_.session.live());
  place_->setText(usable ? QString::fromStdString(traces::describe(navigator.cursor().place))
                         : QString("no ring step"));
  fitPlace();
  refreshScrubber();
  const QSignalBlocker quiet(group_);
  group_->setCurrentIndex(navigator.cursor().group);
}

/// As wide as the longest place of the trace, whatever place is shown.
void TransportBar::fitPlace() {
  constexpr int kLeast = 280;
  const auto& moments = viewing_.session.trace().moments();
  if (moments.empty()) return;
  Place longest = moments.back();
  longest.direction = traces::Direction::kBackward;
  if (const auto* run = viewing_.session.trace().run(); run && run->model.layers > 0)
    longest.layer = Layer::of(run->model.layers - 1);
  QString words = QString::fromStdString(traces::describe(longest));
  for (QChar& letter : words)
    if (letter.isDigit()) letter = '0';  // as wide as any
  words += "0";                          // ring steps may have two digits before the last
  const int width = std::max(kLeast, place_->fontMetrics().horizontalAdvance(words));
  if (place_->minimumWidth() != width) place_->setFixedWidth(width);
}

/// Only where there is something to choose.
void TransportBar::refreshGroups() {
  const QSignalBlocker quiet(group_);
  QStringList names;
  for (const Group& group : listGroups(viewing_.session.trace()))
    names << QString::fromStdString(group.name);
  QStringList shown;
  for (int i = 0; i < group_->count(); ++i) shown << group_->itemText(i);
  if (names != shown) {
    group_->clear();
    group_->addItems(names);
  }
  group_->setCurrentIndex(viewing_.navigator.cursor().group);
  group_->setVisible(names.size() > 1);
}

void TransportBar::refreshScrubber() {
  const Navigator& navigator = viewing_.navigator;
  const QSignalBlocker quiet(scrub_);
  const auto moments = static_cast<int>(viewing_.session.trace().moments().size());
  scrub_->setRange(0, std::max(0, moments * kTicksPerMoment - 1));
  scrub_->setSingleStep(kTicksPerMoment);
  scrub_->setPageStep(kTicksPerMoment * 4);
  const auto value = static_cast<int>(
      (navigator.moment() + std::min(navigator.cursor().phase, 0.99)) * kTicksPerMoment);
  // A move of less than a pixel is none, and drawing the slider costs as much as all packets.
  auto pixel = [&](int ticks) {
    return static_cast<std::int64_t>(ticks) * scrub_->width() / std::max(1, scrub_->maximum());
  };
  if (pixel(value) != pixel(scrub_->value()) || value % kTicksPerMoment == 0)
    scrub_->setValue(value);
}

}  // namespace ringscope::viz
