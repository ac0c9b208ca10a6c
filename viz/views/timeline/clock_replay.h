// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include "viz/session/background.h"
#include "viz/session/session.h"
#include "viz/views/timeline/own_clock_scene.h"

namespace ringscope::viz {

/// The own-device clock of the training step on show: its schedule is put together once, and
/// replayed with each link or device that is tried. A replay that takes longer than a frame runs
/// on a thread. There is one at a time, and only the newest request waits for it. GUI thread only.
class ClockReplay : public QObject {
  Q_OBJECT
 public:
  explicit ClockReplay(QObject* parent = nullptr);

  /// Another training step, or more of the same: its schedule alone.
  void read(const Session& session, std::int32_t train_step);
  /// And its replay.
  void show(const Session& session, std::int32_t train_step);
  void setHardware(const traces::Hardware& hardware);
  const traces::Hardware& hardware() const { return hardware_; }

  /// Returns the model of the step on show, for the hardware or, while replaying(), for an earlier
  /// one. Null when why() says why.
  const std::shared_ptr<const OwnClock>& clock() const { return clock_; }
  const std::string& why() const { return why_; }
  /// The schedule that is replayed; null: there is none yet.
  const RecordedStep& recorded() const { return recorded_; }
  bool replaying() const { return background_.busy(); }

 Q_SIGNALS:
  /// Another clock(), recorded() or why().
  void changed();

 private:
  void replay();
  void takeStep(const RecordedStep& step);
  void take(const std::shared_ptr<const OwnClock>& clock);
  void fail(const std::string& problem);

  traces::Hardware hardware_;
  RecordedStep recorded_;
  std::int32_t train_step_ = 0;
  int generation_ = -1;
  std::size_t events_ = 0;  // of the recording when the step was read
  std::shared_ptr<const OwnClock> clock_;
  std::string why_;
  bool wanted_ = false, replayed_ = false;  // the replay of this schedule
  Background background_;
};

}  // namespace ringscope::viz
