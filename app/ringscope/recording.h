// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "engine/control/control_server.h"
#include "engine/control/gate.h"
#include "traces/recording/recorder.h"
#include "traces/storage/sqlite_sink.h"
#include "traces/stream/frame_writer.h"

namespace ringscope::app {

/// The recording of one command: a file, a control connection, both or neither.
class Recording {
 public:
  /// `trace_path` may be empty. With `control`, frames go to what was standard output, and standard
  /// output is turned into standard error, since libraries print.
  Recording(int ranks, const std::string& trace_path, bool control, engine::Gate& gate);

  /// Null when nothing is recorded.
  traces::Recorder* recorder() { return recorder_.get(); }
  /// What `read` requests of the control connection see.
  engine::LiveTensors* live() { return control_ ? &live_ : nullptr; }
  /// What the control connection changes of the run; null without one.
  engine::RunSwitches* switches() { return control_ ? &switches_ : nullptr; }
  /// For breaks on divergences. Any thread.
  void diffsArrived(const std::vector<traces::DiffRecord>& diffs);
  /// Puts the command line and what it injects where the doctor cannot see them.
  void seal(const std::string& json);
  /// Ends the recording and tells the other side. Warns on stderr when the file could not be kept.
  void finish(const std::string& failure, bool stopped);

 private:
  traces::SqliteSink* file_ = nullptr;  // owned by the recorder
  std::shared_ptr<traces::FrameWriter> writer_;
  std::unique_ptr<traces::Recorder> recorder_;
  engine::LiveTensors live_;
  engine::RunSwitches switches_;
  std::unique_ptr<engine::ControlServer> control_;
};

}  // namespace ringscope::app
