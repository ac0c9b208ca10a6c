// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "engine/control/controlled_run.h"
#include "engine/control/gate.h"
#include "traces/stream/frame.h"
#include "traces/stream/frame_writer.h"

namespace ringscope::engine {

/// The engine's side of the control connection, version 0. Requests are JSON frames
///   {"cmd": "hello", "control": 0, "at_end_of_input": "finish" | "stop"}
///   {"cmd": "pause" | "continue" | "stop" | "state", "id": N}
///   {"cmd": "step", "unit": "stage" | "layer" | "train_step", "id": N}
///   {"cmd": "break", "at": {"train_step", "layer", "direction", "stage"},
///    "on": "divergence" | "non_finite", "multiple": M, "id": N}; without "at" and "on", none.
///    A divergence is an error of more than M times its noise floor (default: 2.5)
///   {"cmd": "inject" | "lift", "mistake": ID, "id": N}: from the next training step on, which the
///    answer names; the request is sealed with what was injected at the start
///   {"cmd": "capture", "policy": "none" | "stats" | "full" | "values:steps=A-B", "id": N}
///   {"cmd": "tensors" | "read", …, "id": N}: of a paused run, see tensor_read.h
///   {"cmd": "resend", "first": SEQ, "last": SEQ, "id": N}
/// and every one is answered by {"reply": cmd, "id": N, "ok": true | false, …}. A pause or step is
/// answered when every rank stands at the same gate and all before it is flushed, with
/// {run_id, place, chunk_watermark, run_clock_ns}; whoever shows "stopped" waits for that
/// watermark. While ranks do not come to their gate, {"waiting": cmd, "id": N, "for": [{"rank",
/// "place"}]} says which, and the last gate of each, every two seconds. A run that stops at a break
/// says so with {"stopped": "break", …}. A failure in a request is an answer with "error"; it never
/// ends the run.
class ControlServer {
 public:
  struct Options {
    std::string run_id;
    std::string trace_path;  ///< where lost chunks are read again; empty: they cannot be
    int input = 0;           ///< descriptor that requests come from
    std::function<void(const std::string& json)> seal;  ///< for what the doctor must not see
  };
  /// References outlive this.
  ControlServer(Gate& gate, ControlledRun& run, std::shared_ptr<traces::FrameWriter> writer,
                Options options);
  ~ControlServer();

  /// Pauses the run when a break on divergences is set and one of these is one. Any thread.
  void diffsArrived(const std::vector<traces::DiffRecord>& diffs);
  /// Tells the other side how the run ended. `failure` is empty when it ended well.
  void announceEnd(const std::string& failure, bool stopped);

 private:
  void loop();
  void readInput();
  void handle(const nlohmann::json& request);
  void dispatch(const nlohmann::json& request, nlohmann::json& reply);
  void resend(const nlohmann::json& request, nlohmann::json& reply);
  void read(const nlohmann::json& request, nlohmann::json& reply);
  void setBreak(const nlohmann::json& request);
  void change(const nlohmann::json& request, nlohmann::json& reply);
  void answerPending();
  void tellWhoIsLate();
  void announceBreak();
  void addStop(nlohmann::json& message, const std::optional<traces::Place>& place);
  void send(const nlohmann::json& message);
  nlohmann::json state() const;

  Gate& gate_;
  ControlledRun& run_;
  std::shared_ptr<traces::FrameWriter> writer_;
  Options options_;
  traces::FrameDecoder decoder_;
  std::optional<nlohmann::json> pending_;  // the pause or step that waits for its answer
  std::chrono::steady_clock::time_point pending_said_;  // when its waiting was last spoken of
  std::atomic<double> break_multiple_{kNoBreak};        // of the noise floor
  bool breaks_on_non_finite_ = false;
  bool stop_is_known_ = false;  // the other side has been told where the ranks stand
  bool stop_at_end_of_input_ = false;
  bool input_open_ = true;
  std::atomic<bool> closing_{false};
  std::thread thread_;

  static constexpr double kNoBreak = -1;
};

/// JSON form of a place, as frames carry it.
nlohmann::json toJson(const traces::Place& place);

}  // namespace ringscope::engine
