// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/beside_control.h"

namespace ringscope::viz {

/// Live runs of the engine: starts them, records them in files of their own, and shows what they
/// send.
class RunControl : public QObject {
  Q_OBJECT
 public:
  /// `program` is the engine's program; empty when this installation only views recordings.
  RunControl(const WindowParts& parts, EngineLink& engine, BesideControl& beside,
             const QString& program, QObject* parent);

  void start(const RunConfig& config);
  /// Runs the panel's settings again, beside what is on show now.
  void whatIf();
  void pauseOrGo();
  /// Sets the settings of the recording on show, from which a what-if says what it changes.
  void setShownConfig(const RunConfig& config) { last_config_ = config; }

 Q_SIGNALS:
  /// A run takes the place of what is on show.
  void taking();
  /// The run has failed or ended.
  void changed();
  /// The run has ended and is recorded.
  void recorded();

 private:
  bool refuses(const RunConfig& config);
  /// Gives the run a file of its own. Returns nothing, and says why, when it cannot be recorded.
  std::optional<RunHold> nameRun(RunConfig& config);
  void begin(const RunConfig& config, RunHold hold);
  void connectEngine();
  void finish(const QString& failure);

  WindowParts parts_;
  EngineLink& engine_;
  BesideControl& beside_;
  QString program_;
  RunConfig last_config_;
};

}  // namespace ringscope::viz
