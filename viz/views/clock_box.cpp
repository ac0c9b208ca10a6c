// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/clock_box.h"

#include <QStandardItemModel>
#include <cmath>
#include <utility>

#include "viz/scene/own_clock.h"
#include "viz/views/choice.h"
#include "viz/views/tick_box.h"

namespace ringscope::viz {
namespace {

constexpr int kPositions = 1000;
constexpr const char* kOwnLink = "a link of your own";
constexpr LogScale kBandwidth{0.1, 2000}, kLatency{0.1, 1000}, kCompute{0.01, 1e6};

QString figure(double value) {
  return QString::fromStdString(describeFigure(value));
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

ClockBox::ClockBox(QWidget* parent) : QWidget(parent), grid_(new QGridLayout(this)) {
  grid_->setContentsMargins(20, 10, 20, 6);
  grid_->setHorizontalSpacing(8);
  grid_->setVerticalSpacing(2);
  title_ = new QLabel("OWN DEVICES: A MODEL", this);
  title_->setObjectName("section");
  makeLinks();
  bandwidth_ = makeSlide("link", "Link speed", "GB/s of a rank in each direction");
  latency_ = makeSlide("latency", "Link latency", "µs from the first byte sent to the first there");
  makeDevices();
  compute_ = makeSlide("compute", "Compute", "How many times quicker stages are than recorded");
  overlap_ = new TickBox("messages move under work", this);
  overlap_->setToolTip("Off: a message moves only while both its ranks wait for it");
  path_ = new TickBox("critical path (C)", this);
  path_->setToolTip("The chain of work and messages that determines when the step ends");
  arrange();
  setHardware({traces::linkPreset("pcie4").value, {}, true, 1});
  connectAll();
}

void ClockBox::arrange() {
  while (grid_->count() > 0) delete grid_->takeAt(0);
  for (int row = 0; row < grid_->rowCount(); ++row) grid_->setRowStretch(row, 0);
  const auto slide = [this](const Slide& of, int row, int column) {
    grid_->addWidget(of.title, row, column);
    grid_->addWidget(of.slider, row, column + 1);
    grid_->addWidget(of.value, row, column + 2);
  };
  const int column = wide_ ? 4 : 0, below = wide_ ? 0 : 3;
  grid_->addWidget(title_, 0, 0, 1, 3);
  grid_->addWidget(link_, 1, 0, 1, 3);
  slide(bandwidth_, 2, 0);
  slide(latency_, 3, 0);
  grid_->addWidget(device_, 1 + below, column, 1, 3);
  slide(compute_, 2 + below, column);
  grid_->addWidget(overlap_, 3 + below, column, 1, 3);
  grid_->addWidget(path_, wide_ ? 0 : 7, column, 1, 3);
  grid_->setColumnMinimumWidth(3, wide_ ? 24 : 0);
  grid_->setRowStretch(8, 1);
  for (QWidget* each : std::initializer_list<QWidget*>{
           title_, link_, bandwidth_.title, bandwidth_.slider, bandwidth_.value, latency_.title,
           latency_.slider, latency_.value, device_, compute_.title, compute_.slider,
           compute_.value, overlap_})
    each->setVisible(model_);
}

void ClockBox::makeLinks() {
  link_ = new Choice(this);
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

ClockBox::Slide ClockBox::makeSlide(const QString& title, const QString& name, const QString& tip) {
  Slide slide{new QLabel(title, this), new QSlider(Qt::Horizontal, this), new QLabel(this)};
  slide.title->setObjectName("dim");
  slide.slider->setRange(0, kPositions);
  slide.slider->setSingleStep(10);
  slide.slider->setPageStep(100);
  slide.slider->setAccessibleName(name);
  slide.slider->setToolTip(tip);
  slide.slider->setMinimumHeight(24);
  slide.value->setObjectName("mono");
  slide.value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  slide.value->setMinimumWidth(80);
  return slide;
}

void ClockBox::makeDevices() {
  device_ = new Choice(this);
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
  if (std::exchange(model_, model) != model) arrange();
}

void ClockBox::setWide(bool wide) {
  if (std::exchange(wide_, wide) != wide) arrange();
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
