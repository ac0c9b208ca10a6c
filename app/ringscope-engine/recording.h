// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/control/control_server.h"
#include "engine/control/controlled_run.h"
#include "engine/control/rank_hub.h"
#include "engine/control/rank_link.h"
#include "engine/gate/gate.h"
#include "traces/format/recording/recorder.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::app {

/// The value of --control with which the other side says when the ranks start.
constexpr const char* kHeld = "stdio-held";
/// The time between two checks of a held run whether it may start.
constexpr std::chrono::milliseconds kHeldFor{5};

/// The destinations of a recording: a file, a control connection, both or neither.
class Outputs {
 public:
  /// Opens the outputs. `trace_path` may be empty. With `control`, frames go to the original
  /// standard output, and standard output is redirected to standard error, because libraries print
  /// to it.
  Outputs(const std::string& trace_path, bool control);

  /// Moves out the sinks for a recorder or hub; empty when nothing is recorded.
  std::vector<std::unique_ptr<traces::ChunkSink>> takeSinks() { return std::move(sinks_); }
  bool any() const { return file_ || writer_; }
  bool hasControl() const { return writer_ != nullptr; }
  /// Writes text that the doctor must not see into the file.
  void seal(const std::string& json);
  /// Returns a control server for `run`, or null without a control connection.
  std::unique_ptr<engine::ControlServer> serve(engine::Gate& gate, engine::ControlledRun& run);

 private:
  std::string trace_path_;
  traces::SqliteSink* file_ = nullptr;  // owned by the holder of the taken sinks
  std::shared_ptr<traces::FrameWriter> writer_;
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks_;
};

/// The recording of a command whose ranks run in this process. It goes into the command's own
/// outputs or, for a rank that a RingScope process supervises, to the supervisor.
class Recording {
 public:
  /// Starts the recording. `settings` are the run's settings. With them the control connection
  /// refuses requests that would change nothing in this run, from the first request on.
  Recording(int ranks, const std::string& trace_path, bool control, engine::Gate& gate,
            const std::optional<traces::RunSpec>& settings = {});
  ~Recording();

  /// Reports whether a supervisor collects the recording of this process.
  static bool isCollected() { return engine::RankLink::inheritedDescriptor() >= 0; }
  /// Returns the recorder, or null when nothing is recorded.
  traces::Recorder* recorder() { return recorder_.get(); }
  /// Returns the tensors that `read` requests see, or null without a connection.
  engine::LiveTensors* live() { return run_ ? &live_ : nullptr; }
  /// Returns the switches that a client can change, or null without a connection.
  engine::RunSwitches* switches() { return run_ ? &switches_ : nullptr; }
  /// Passes new diffs to breaks on divergences. Thread-safe.
  void diffsArrived(const std::vector<traces::DiffRecord>& diffs);
  /// Writes the command line and its injected mistakes where the doctor cannot see them.
  void seal(const std::string& json) { outputs_.seal(json); }
  /// Reports whether the ranks may start. Without a control connection they always may.
  bool mayStart() const { return !control_ || control_->mayStart(); }
  /// Ends the recording and tells the other side. Warns on stderr when the file could not be saved.
  void finish(const std::string& failure, bool stopped);
  /// Ends the recording and the process. For use when a stuck thread keeps the process from ending.
  [[noreturn]] void giveUp(const std::string& failure);

 private:
  void sendUp(int ranks, engine::Gate& gate);

  bool finished_ = false;
  Outputs outputs_;
  std::unique_ptr<traces::Recorder> recorder_;
  engine::LiveTensors live_;
  engine::RunSwitches switches_;
  std::unique_ptr<engine::RunHere> run_;
  std::unique_ptr<engine::RankLink> link_;
  std::unique_ptr<engine::ControlServer> control_;
};

/// The recording of rank processes that this process supervises.
class CollectedRecording {
 public:
  CollectedRecording(int ranks, const std::string& trace_path, bool control, engine::Gate& gate);
  ~CollectedRecording();

  /// Returns the hub, or null when nothing is recorded.
  engine::RankHub* hub() { return hub_.get(); }
  void seal(const std::string& json) { outputs_.seal(json); }
  bool mayStart() const { return !control_ || control_->mayStart(); }
  void finish(const std::string& failure, bool stopped);

 private:
  bool finished_ = false;
  Outputs outputs_;
  std::unique_ptr<engine::RankHub> hub_;
  std::unique_ptr<engine::ControlServer> control_;
};

}  // namespace ringscope::app
