// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QSlider>
#include <QWidget>
#include <vector>

#include "traces/clock/device_scale.h"
#include "traces/clock/hardware.h"

namespace ringscope::viz {

/// What the own-device clock is replayed on, to be changed by mouse and keys: a link by name, its
/// speed and latency, how many times quicker ranks compute, whether messages move while they do;
/// and whether the critical path is drawn, which the recording's own axis has too.
class ClockBox : public QWidget {
  Q_OBJECT
 public:
  /// Of a device's peak, as `ringscope predict` takes it.
  static constexpr double kEfficiency = 0.6;

  explicit ClockBox(QWidget* parent = nullptr);

  const traces::Hardware& hardware() const { return hardware_; }
  void setHardware(const traces::Hardware& hardware);
  /// How many times quicker each of traces::devicePresets() is than the recording; those of which
  /// that is not known cannot be chosen, and say why.
  void setDevices(std::vector<traces::DeviceScale> scales);
  /// Without it only the critical path can be chosen.
  void setModel(bool model);
  QCheckBox* path() const { return path_; }
  /// All below each other, or in two columns where there is room.
  static bool isWide(double width) { return width > 560; }
  void setWide(bool wide);
  static double heightOf(bool model, bool wide) { return !model ? 44 : wide ? 136 : 232; }

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
  void arrange();
  void connectAll();
  void refresh();
  void change();

  traces::Hardware hardware_;
  QGridLayout* grid_;
  QLabel* title_;
  QComboBox *link_, *device_;
  std::vector<traces::DeviceScale> devices_;
  double device_scale_ = 1;  // that the chosen device gave
  Slide bandwidth_, latency_, compute_;
  QCheckBox* overlap_;
  QCheckBox* path_;
  bool model_ = true, wide_ = false, refreshing_ = false;
};

/// Positions 0 to 1000 of a slider over several powers of ten, from `least` to `most`; values have
/// three digits.
struct LogScale {
  double least = 1, most = 10;

  double valueAt(int position) const;
  int positionOf(double value) const;
};

}  // namespace ringscope::viz
