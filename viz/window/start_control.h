// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/job_control.h"
#include "viz/window/recording_control.h"
#include "viz/window/run_control.h"

namespace ringscope::viz {

/// The doors of the start page: starts what each of them offers.
class StartControl : public QObject {
  Q_OBJECT
 public:
  /// The controls that the doors lead to.
  struct Targets {
    RunControl& runs;
    JobControl& jobs;
    RecordingControl& recordings;
    JobLink& job;
  };
  /// `has_engine`: this installation can run the sample model.
  StartControl(const WindowParts& parts, const Targets& targets, bool has_engine, QObject* parent);

 private:
  void listen();
  void showMistakes();

  WindowParts parts_;
  Targets to_;
  bool has_engine_;
};

}  // namespace ringscope::viz
