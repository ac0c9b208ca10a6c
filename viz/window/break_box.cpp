// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/break_box.h"

#include <QGridLayout>
#include <QLabel>

#include "viz/kit/choice.h"
#include "viz/kit/tick_box.h"

namespace ringscope::viz {
namespace {

constexpr const char* kWish = "wish";

/// Lists "any" and the numbers below `count`. A number that was chosen is chosen again as soon as
/// the list has it, and never another one in its place.
void fill(QComboBox* box, int count) {
  if (box->count() == count + 1) return;
  const QSignalBlocker quiet(box);
  box->clear();
  box->addItem("any");
  for (int i = 0; i < count; ++i) box->addItem(QString::number(i));
  const int wish = box->property(kWish).toInt();
  box->setCurrentIndex(wish <= count ? wish : 0);
}

}  // namespace

BreakBox::BreakBox(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setSpacing(6);
  at_place_ = new TickBox("Break at a place", this);
  on_divergence_ = new TickBox("Break on divergence", this);
  on_divergence_->setToolTip("Stops when the error of a row is beyond what rounding explains");
  layer_ = new Choice(this);
  direction_ = new Choice(this);
  direction_->addItems({"any", "forward", "backward"});
  ring_step_ = new Choice(this);
  layer_->setAccessibleName("Break at layer");
  direction_->setAccessibleName("Break in direction");
  ring_step_->setAccessibleName("Break at ring step");
  setRanges(2, 4);
  grid->addWidget(at_place_, 0, 0, 1, 3);
  const std::pair<const char*, QComboBox*> columns[] = {
      {"layer", layer_}, {"direction", direction_}, {"ring step", ring_step_}};
  int column = 0;
  for (const auto& [name, box] : columns) {
    auto* label = new QLabel(name, this);
    label->setObjectName("dim");
    grid->addWidget(label, 1, column);
    grid->addWidget(box, 2, column++);
    connect(box, &QComboBox::currentIndexChanged, this, [this, box = box](int index) {
      box->setProperty(kWish, index);
      Q_EMIT changed();
    });
  }
  grid->addWidget(on_divergence_, 3, 0, 1, 3);
  for (QCheckBox* box : {at_place_, on_divergence_})
    connect(box, &QCheckBox::toggled, this, &BreakBox::changed);
}

void BreakBox::setRanges(int layers, int ring_steps) {
  fill(layer_, layers);
  fill(ring_step_, ring_steps);
}

traces::control::Break BreakBox::request() const {
  traces::control::Break request;
  if (at_place_->isChecked()) {
    // Outside attention there are gates too; a break is at ring steps unless one is named.
    request.at.emplace();
    const auto chosen = [](const QComboBox* box) {  // the first choice is "any"
      return box->currentIndex() > 0 ? std::optional(box->currentIndex() - 1) : std::nullopt;
    };
    if (const auto layer = chosen(layer_)) request.at->layer = traces::Layer::of(*layer);
    if (const auto direction = chosen(direction_))
      request.at->direction = static_cast<traces::Direction>(*direction);
    if (const auto step = chosen(ring_step_)) request.at->stage = traces::RingStep::of(*step);
  }
  request.on_divergence = on_divergence_->isChecked();
  return request;
}

}  // namespace ringscope::viz
