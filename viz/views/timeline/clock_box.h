// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QSlider>
#include <QWidget>
#include <vector>

#include "traces/analysis/clock/device_scale.h"
#include "traces/analysis/clock/hardware.h"

namespace ringscope::viz {

/// The controls of the own-device clock. A link has a name, a speed and a latency; a device has a
/// name and a share of its peak, or a speed-up. A kernel and a transfer have a least time. Messages
/// overlap with computing or not. Another control shows the critical path, which both axes have.
class ClockBox : public QWidget {
  Q_OBJECT
 public:
  explicit ClockBox(QWidget* parent = nullptr);

  const traces::Hardware& hardware() const { return hardware_; }
  void setHardware(const traces::Hardware& hardware);
  /// Sets how many times quicker each of traces::devicePresets() is than the recording, at
  /// traces::kDefaultEfficiency. Devices whose scale is not known cannot be chosen and say why. The
  /// chosen device gets its new scale.
  void setDevices(std::vector<traces::DeviceScale> scales);
  /// Shows the controls of the model. Without them only the critical path can be chosen.
  void setModel(bool model);
  QCheckBox* path() const { return path_; }
  /// Returns whether this width has room for two columns.
  static bool isWide(double width) { return width > 560; }
  void setWide(bool wide);
  static double neededHeight(bool model, bool wide) { return !model ? 44 : wide ? 186 : 308; }

 Q_SIGNALS:
  void hardwareChanged(const traces::Hardware& hardware);

 private:
  struct Slide {
    QLabel* title = nullptr;
    QSlider* slider = nullptr;
    QLabel* value = nullptr;
  };
  Slide makeSlide(const QString& title, const QString& name, const QString& tip);
  void makeLinks();
  void makeDevices();
  void chooseLink(int index);
  void chooseDevice(int index);
  void takeDevice(std::size_t preset, double efficiency);
  void setOwnSpeed(double scale);
  int deviceIndex() const;
  void arrange();
  void connectAll();
  void refresh();
  void refreshDevice();
  void change();

  traces::Hardware hardware_;
  QGridLayout* grid_;
  QLabel* title_;
  QComboBox *link_, *device_;
  std::vector<traces::DeviceScale> devices_;
  struct {
    Slide bandwidth, latency, compute, efficiency, kernel_floor, transfer_floor;
  } slides_;
  QCheckBox* overlap_;
  QCheckBox* path_;
  bool model_ = true, wide_ = false, refreshing_ = false;
};

}  // namespace ringscope::viz
