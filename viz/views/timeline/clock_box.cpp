// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/clock_box.h"

#include <QStandardItemModel>
#include <algorithm>
#include <cmath>
#include <utility>

#include "viz/kit/choice.h"
#include "viz/kit/tick_box.h"
#include "viz/views/timeline/own_clock_scene.h"
#include "viz/views/timeline/slider_scales.h"

namespace ringscope::viz {
namespace {

constexpr const char* kOwnLink = "a link of your own";
constexpr LogScale kBandwidth{0.1, 2000}, kLatency{0.1, 1000}, kClockBoxCompute{0.01, 1e6};

QString figure(double value) {
  return QString::fromStdString(describeFigure(value));
}

}  // namespace

ClockBox::ClockBox(QWidget* parent) : QWidget(parent), grid_(new QGridLayout(this)) {
  grid_->setContentsMargins(20, 10, 20, 6);
  grid_->setHorizontalSpacing(8);
  grid_->setVerticalSpacing(2);
  title_ = new QLabel("OWN DEVICES: A MODEL", this);
  title_->setObjectName("section");
  makeLinks();
  slides_.bandwidth = makeSlide("link", "Link speed", "GB/s of a rank in each direction");
  slides_.latency =
      makeSlide("latency", "Link latency", "µs from the first byte sent to the first there");
  makeDevices();
  slides_.compute =
      makeSlide("compute", "Compute", "How many times quicker stages are than recorded");
  slides_.efficiency =
      makeSlide("efficiency", "Efficiency",
                "Of the device's peak: " +
                    QString::fromUtf8(traces::efficiencySource().data(),
                                      static_cast<int>(traces::efficiencySource().size())));
  const QString floors = QString::fromUtf8(traces::floorsSource().data(),
                                           static_cast<int>(traces::floorsSource().size()));
  slides_.kernel_floor = makeSlide("kernel", "Least time of a kernel",
                                   "µs that each kernel takes at least: launches. " + floors);
  slides_.transfer_floor =
      makeSlide("transfer", "Least time of a transfer",
                "µs that each message and collective takes at least. " + floors);
  overlap_ = new TickBox("messages move under work", this);
  overlap_->setToolTip("Off: a message moves only while both its ranks wait for it");
  path_ = new TickBox("critical path (C)", this);
  path_->setToolTip("The chain of work and messages that determines when the step ends");
  arrange();
  traces::Hardware hardware;
  hardware.link = traces::linkPreset("pcie4").value;
  setHardware(hardware);
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
  const int column = wide_ ? 4 : 0, below = wide_ ? 0 : 4;
  grid_->addWidget(title_, 0, 0, 1, 3);
  grid_->addWidget(link_, 1, 0, 1, 3);
  slide(slides_.bandwidth, 2, 0);
  slide(slides_.latency, 3, 0);
  slide(slides_.transfer_floor, 4, 0);
  grid_->addWidget(device_, 1 + below, column, 1, 3);
  slide(slides_.compute, 2 + below, column);
  slide(slides_.efficiency, 3 + below, column);
  slide(slides_.kernel_floor, 4 + below, column);
  grid_->addWidget(overlap_, wide_ ? 5 : 9, 0, 1, 3);
  grid_->addWidget(path_, wide_ ? 0 : 10, column, 1, 3);
  grid_->setColumnMinimumWidth(3, wide_ ? 24 : 0);
  grid_->setRowStretch(11, 1);
  for (const Slide* each : {&slides_.bandwidth, &slides_.latency, &slides_.transfer_floor,
                            &slides_.compute, &slides_.efficiency, &slides_.kernel_floor})
    for (QWidget* part : std::initializer_list<QWidget*>{each->title, each->slider, each->value})
      part->setVisible(model_);
  for (QWidget* each : std::initializer_list<QWidget*>{title_, link_, device_, overlap_})
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
  slide.slider->setRange(0, kSliderPositions);
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
                  .arg(std::lround(100 * traces::kDefaultEfficiency))
            : "Not known: " + QString::fromStdString(devices_[i].why));
  }
  if (!hardware_.device) return;
  const traces::Hardware before = hardware_;
  const auto chosen = static_cast<std::size_t>(deviceIndex() - 1);
  if (chosen < devices_.size() && devices_[chosen].times > 0)
    takeDevice(chosen, hardware_.device->efficiency);
  else
    hardware_.device.reset();
  if (!(hardware_ == before)) change();
}

void ClockBox::takeDevice(std::size_t preset, double efficiency) {
  const traces::DeviceRates& device = traces::devicePresets()[preset].value;
  hardware_.device = traces::DeviceShare{device.name, efficiency};
  hardware_.compute_scale = devices_[preset].times * efficiency / traces::kDefaultEfficiency;
}

/// A recording as quick as it was has its own launches in its times; a quicker one has floors.
void ClockBox::setOwnSpeed(double scale) {
  hardware_.device.reset();
  hardware_.compute_scale = scale;
  if (scale == 1 && hardware_.floors == traces::defaultFloors())
    hardware_.floors = {};
  else if (scale != 1 && hardware_.floors == traces::Floors())
    hardware_.floors = traces::defaultFloors();
}

/// Returns the index in the list of devices: as recorded, the presets, and another speed.
int ClockBox::deviceIndex() const {
  if (!hardware_.device) return hardware_.compute_scale == 1 ? 0 : device_->count() - 1;
  const auto presets = traces::devicePresets();
  const auto at = std::ranges::find_if(
      presets, [&](const auto& each) { return each.value.name == hardware_.device->name; });
  return static_cast<int>(at - presets.begin()) + 1;
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
  if (index == 0) {
    hardware_.device.reset();
    hardware_.compute_scale = 1;
    hardware_.floors = {};
  } else if (preset < devices_.size()) {
    takeDevice(preset,
               hardware_.device ? hardware_.device->efficiency : traces::kDefaultEfficiency);
    hardware_.floors = traces::devicePresets()[preset].value.floors;
  } else {
    setOwnSpeed(hardware_.compute_scale);
  }
  change();
}

void ClockBox::connectAll() {
  connect(link_, &QComboBox::activated, this, &ClockBox::chooseLink);
  connect(device_, &QComboBox::activated, this, &ClockBox::chooseDevice);
  const auto slide = [this](const Slide& of, const auto& scale, auto set) {
    connect(of.slider, &QSlider::valueChanged, this, [this, scale, set](int position) {
      if (refreshing_) return;
      set(scale.valueAt(position));
      change();
    });
  };
  const auto own = [this] { hardware_.link.name = kOwnLink; };
  slide(slides_.bandwidth, kBandwidth, [this, own](double value) {
    own();
    hardware_.link.gigabytes_per_second = value;
  });
  slide(slides_.latency, kLatency, [this, own](double value) {
    own();
    hardware_.link.latency_us = value;
  });
  slide(slides_.compute, kClockBoxCompute, [this](double value) { setOwnSpeed(value); });
  slide(slides_.efficiency, ShareScale(), [this](double value) {
    if (hardware_.device) takeDevice(static_cast<std::size_t>(deviceIndex() - 1), value);
  });
  slide(slides_.kernel_floor, FloorScale(),
        [this](double value) { hardware_.floors.kernel_us = value; });
  slide(slides_.transfer_floor, FloorScale(),
        [this](double value) { hardware_.floors.collective_us = value; });
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
  slides_.bandwidth.slider->setValue(kBandwidth.positionAt(hardware_.link.gigabytes_per_second));
  slides_.latency.slider->setValue(kLatency.positionAt(hardware_.link.latency_us));
  slides_.compute.slider->setValue(kClockBoxCompute.positionAt(hardware_.compute_scale));
  slides_.bandwidth.value->setText(figure(hardware_.link.gigabytes_per_second) + " GB/s");
  slides_.latency.value->setText(figure(hardware_.link.latency_us) + " µs");
  slides_.compute.value->setText("×" + figure(hardware_.compute_scale));
  overlap_->setChecked(hardware_.overlap);
  device_->setCurrentIndex(deviceIndex());
  refreshDevice();
  refreshing_ = false;
}

/// Without a device by name nothing is known to have a share of.
void ClockBox::refreshDevice() {
  const bool known = hardware_.device.has_value();
  const double share = known ? hardware_.device->efficiency : traces::kDefaultEfficiency;
  slides_.efficiency.slider->setEnabled(known);
  slides_.efficiency.slider->setValue(ShareScale().positionAt(share));
  slides_.efficiency.value->setText(known ? QString::number(100 * share, 'g', 3) + " %"
                                          : QString("–"));
  const auto floor = [](const Slide& slide, double us) {
    slide.slider->setValue(FloorScale().positionAt(us));
    slide.value->setText(us > 0 ? "≥ " + figure(us) + " µs" : QString("none"));
  };
  floor(slides_.kernel_floor, hardware_.floors.kernel_us);
  floor(slides_.transfer_floor, hardware_.floors.collective_us);
}

}  // namespace ringscope::viz
