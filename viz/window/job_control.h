// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/beside_control.h"

namespace ringscope::viz {

/// Jobs that send their recordings here: receives them, and shows them until something else is
/// opened.
class JobControl : public QObject {
  Q_OBJECT
 public:
  /// A run of `engine` that is under way is not replaced by a job that begins.
  JobControl(const WindowParts& parts, JobLink& job, const EngineLink& engine, QObject* parent);

  /// Throws Error when it cannot listen there. Without a folder in the options, the recording goes
  /// to a new folder among the runs.
  void listen(traces::ListenOptions options);
  /// Reports whether the stage shows the job.
  bool isShown() const { return shown_; }
  /// Leaves the stage to something else. The job goes on being received.
  void leave();

 Q_SIGNALS:
  /// The job takes the place of what is on show.
  void taking();
  /// The recording of the job on show is complete.
  void recorded();

 private:
  void begin();
  void show();
  void grow();
  void finish();

  WindowParts parts_;
  JobLink& job_;
  const EngineLink& engine_;
  bool shown_ = false;
};

}  // namespace ringscope::viz
