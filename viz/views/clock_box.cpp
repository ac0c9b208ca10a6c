// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/clock_box.h"

#include <QGridLayout>
#include <QStandardItemModel>
#include <cmath>

#include "traces/core/prose.h"
#include "viz/views/choice.h"
#include "viz/views/tick_box.h"

namespace ringscope::viz {
namespace {

constexpr int kPositions = 1000;
constexpr const char* kOwnLink = "a link of your own";
constexpr LogScale kBandwidth{0.1, 2000}, kLatency{0.1, 1000}, kCompute{0.01, 1e6};

QString figure(double value) {
  return QString::fromStdString(traces::describeSignificant(value, 3));
}

}  // namespace

double LogScale::valueAt(int position) const {
  const double value = least * std::pow(most / least, static_cast<double>(position) / kPositions);
  const double digit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / digit) * digit;
}

int LogScale::positionOf(double value) const {
  if (value <= least) return 0;
  if (value >= most) return kPositions;
  return static_cast<int>(
      std::lround(kPositions * std::log(value / least) / std::log(most / least)));
}

ClockBox::ClockBox(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 10, 20, 0);
  column->setSpacing(0);
  model_ = new QWidget(this);
  auto* grid = new QGridLayout(model_);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(2);
  auto* title = new QLabel("OWN DEVICES: A MODEL", model_);
  title->setObjectName("section");
  grid->addWidget(title, 0, 0, 1, 3);
  makeLinks();
  grid->addWidget(link_, 1, 0, 1, 3);
  bandwidth_ = addSlide(2, "link", "Link speed", "GB/s of a rank in each direction");
  latency_ =
      addSlide(3, "latency", "Link latency", "µs from the first byte sent to the first there");
  makeDevices();
  grid->addWidget(device_, 4, 0, 1, 3);
  compute_ = addSlide(5, "compute", "Compute", "How many times quicker stages are than recorded");
  overlap_ = new TickBox("messages move under work", model_);
  overlap_->setToolTip("Off: a message moves only while both its ranks wait for it");
  grid->addWidget(overlap_, 6, 0, 1, 3);
  column->addWidget(model_);
  path_ = new TickBox("critical path (C)", this);
  path_->setToolTip("The chain of work and messages that determines when the step ends");
  column->addWidget(path_);
  column->addStretch();
  setHardware({traces::linkPreset("pcie4").value, {}, true, 1});
  connectAll();
}

void ClockBox::makeLinks() {
  link_ = new Choice(model_);
  link_->setAccessibleName("Link");
  for (const auto& preset : traces::linkPresets()) {
    link_->addItem(QString::fromUtf8(preset.title.data(), static_cast<int>(preset.title.size())));
    link_->setItemData(
        link_->count() - 1,
        QString::fromUtf8(preset.source.data(), static_cast<int>(preset.source.size())),
        Qt::ToolTipRole);
  }
  link_->addItem(kOwnLink);
  link_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
}

ClockBox::Slide ClockBox::addSlide(int row, const QString& title, const QString& name,
                                   const QString& tip) {
  auto* grid = static_cast<QGridLayout*>(model_->layout());
  Slide slide;
  slide.slider = new QSlider(Qt::Horizontal, model_);
  slide.slider->setRange(0, kPositions);
  slide.slider->setSingleStep(10);
  slide.slider->setPageStep(100);
  slide.slider->setAccessibleName(name);
  slide.slider->setToolTip(tip);
  slide.slider->setMinimumHeight(24);
  slide.value = new QLabel(model_);
  slide.value->setObjectName("mono");
  slide.value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  slide.value->setMinimumWidth(80);
  auto* label = new QLabel(title, model_);
  label->setObjectName("dim");
  grid->addWidget(label, row, 0);
  grid->addWidget(slide.slider, row, 1);
  grid->addWidget(slide.value, row, 2);
  return slide;
}

void ClockBox::makeDevices() {
  device_ = new Choice(model_);
  device_->setAccessibleName("Device");
  device_->addItem("devices as quick as recorded");
  for (const auto& preset : traces::devicePresets())
    device_->addItem(QString::fromUtf8(preset.title.data(), static_cast<int>(preset.title.size())));
  device_->addItem("devices of a speed of your own");
  device_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  devices_.resize(traces::devicePresets().size());
}

void ClockBox::setDevices(std::vector<traces::DeviceScale> scales) {
  devices_ = std::move(scales);
  auto* items = qobject_cast<QStandardItemModel*>(device_->model());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    QStandardItem* item = items->item(static_cast<int>(i) + 1);
    item->setEnabled(devices_[i].times > 0);
    item->setToolTip(
        devices_[i].times > 0
            ? QString("Stages ×%1: recorded attention as quick as at %2 % of its peak; "
                      "the other stages by as much")
                  .arg(figure(devices_[i].times))
                  .arg(std::lround(100 * kEfficiency))
            : "Not known: " + QString::fromStdString(devices_[i].why));
  }
}

void ClockBox::chooseLink(int index) {
  const auto presets = traces::linkPresets();
  if (static_cast<std::size_t>(index) >= presets.size())
    hardware_.link.name = kOwnLink;
  else
    hardware_.link = presets[static_cast<std::size_t>(index)].value;
  change();
}

void ClockBox::chooseDevice(int index) {
  const std::size_t preset = static_cast<std::size_t>(index) - 1;
  if (index == 0) hardware_.compute_scale = 1;
  if (index > 0 && preset < devices_.size()) hardware_.compute_scale = devices_[preset].times;
  device_scale_ = hardware_.compute_scale;
  change();
}

void ClockBox::connectAll() {
  connect(link_, &QComboBox::activated, this, &ClockBox::chooseLink);
  connect(device_, &QComboBox::activated, this, &ClockBox::chooseDevice);
  const auto slide = [this](const Slide& of, const LogScale& scale, auto set) {
    connect(of.slider, &QSlider::valueChanged, this, [this, scale, set](int position) {
      if (refreshing_) return;
      set(scale.valueAt(position));
      change();
    });
  };
  const auto own = [this] { hardware_.link.name = kOwnLink; };
  slide(bandwidth_, kBandwidth, [this, own](double value) {
    own();
    hardware_.link.gigabytes_per_second = value;
  });
  slide(latency_, kLatency, [this, own](double value) {
    own();
    hardware_.link.latency_us = value;
  });
  slide(compute_, kCompute, [this](double value) { hardware_.compute_scale = value; });
  connect(overlap_, &QCheckBox::toggled, this, [this](bool on) {
    if (refreshing_) return;
    hardware_.overlap = on;
    change();
  });
}

void ClockBox::setHardware(const traces::Hardware& hardware) {
  hardware_ = hardware;
  refresh();
}

void ClockBox::setModel(bool model) {
  model_->setVisible(model);
}

void ClockBox::change() {
  refresh();
  Q_EMIT hardwareChanged(hardware_);
}

void ClockBox::refresh() {
  refreshing_ = true;
  const auto presets = traces::linkPresets();
  const auto at = std::find_if(presets.begin(), presets.end(),
                               [&](const auto& each) { return each.value == hardware_.link; });
  link_->setCurrentIndex(static_cast<int>(at - presets.begin()));
  bandwidth_.slider->setValue(kBandwidth.positionOf(hardware_.link.gigabytes_per_second));
  latency_.slider->setValue(kLatency.positionOf(hardware_.link.latency_us));
  compute_.slider->setValue(kCompute.positionOf(hardware_.compute_scale));
  bandwidth_.value->setText(figure(hardware_.link.gigabytes_per_second) + " GB/s");
  latency_.value->setText(figure(hardware_.link.latency_us) + " µs");
  compute_.value->setText("×" + figure(hardware_.compute_scale));
  overlap_->setChecked(hardware_.overlap);
  if (hardware_.compute_scale == 1)
    device_->setCurrentIndex(0);
  else if (hardware_.compute_scale != device_scale_)
    device_->setCurrentIndex(device_->count() - 1);
  refreshing_ = false;
}

}  // namespace ringscope::viz
