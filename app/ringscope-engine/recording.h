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
/// How often a run that is held asks whether it may start.
constexpr std::chrono::milliseconds kHeldFor{5};

/// Where a recording goes: a file, a control connection, both or neither.
class Outputs {
 public:
  /// `trace_path` may be empty. With `control`, frames go to what was standard output, and standard
  /// output is turned into standard error, since libraries print.
  Outputs(const std::string& trace_path, bool control);

  /// What a recorder or hub is made with; empty when nothing is recorded.
  std::vector<std::unique_ptr<traces::ChunkSink>> takeSinks() { return std::move(sinks_); }
  bool any() const { return file_ || writer_; }
  bool hasControl() const { return writer_ != nullptr; }
  /// Puts what the doctor must not see into the file.
  void seal(const std::string& json);
  /// Speaks for `run`; null without a control connection.
  std::unique_ptr<engine::ControlServer> serve(engine::Gate& gate, engine::ControlledRun& run);

 private:
  std::string trace_path_;
  traces::SqliteSink* file_ = nullptr;  // owned by whoever took the sinks
  std::shared_ptr<traces::FrameWriter> writer_;
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks_;
};

/// The recording of one command whose ranks are in this process: into its own outputs, or, for a
/// rank that a RingScope process supervises, up to that.
class Recording {
 public:
  /// `settings`: of the run, so that the control connection refuses from the first request on what
  /// would change nothing of it.
  Recording(int ranks, const std::string& trace_path, bool control, engine::Gate& gate,
            const std::optional<traces::RunSpec>& settings = {});
  ~Recording();

  /// Whether a supervisor collects what this process records.
  static bool isCollected() { return engine::RankLink::inheritedDescriptor() >= 0; }
  /// Null when nothing is recorded.
  traces::Recorder* recorder() { return recorder_.get(); }
  /// What `read` requests see; null where nobody can ask.
  engine::LiveTensors* live() { return run_ ? &live_ : nullptr; }
  /// What can be changed of the run; null where nobody can ask.
  engine::RunSwitches* switches() { return run_ ? &switches_ : nullptr; }
  /// For breaks on divergences. Any thread.
  void diffsArrived(const std::vector<traces::DiffRecord>& diffs);
  /// Puts the command line and what it injects where the doctor cannot see them.
  void seal(const std::string& json) { outputs_.seal(json); }
  /// Whether the other side of the control connection, where there is one, lets the ranks start.
  bool mayStart() const { return !control_ || control_->mayStart(); }
  /// Ends the recording and tells the other side. Warns on stderr when the file could not be kept.
  void finish(const std::string& failure, bool stopped);
  /// Ends the recording and the process, where a thread that is stuck keeps it from ending.
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

  /// Null when nothing is recorded.
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
