// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "engine/control/gate.h"
#include "traces/recording/recorder.h"
#include "traces/stream/frame.h"
#include "traces/stream/frame_writer.h"

namespace ringscope::engine {

/// The engine's side of the control connection, version 0. Requests are JSON frames
///   {"cmd": "hello", "control": 0, "at_end_of_input": "finish" | "stop"}
///   {"cmd": "pause" | "continue" | "stop" | "state", "id": N}
///   {"cmd": "step", "unit": "stage" | "layer" | "train_step", "id": N}
///   {"cmd": "resend", "first": SEQ, "last": SEQ, "id": N}
/// and every one is answered by {"reply": cmd, "id": N, "ok": true | false, …}. A pause or step is
/// answered when every rank stands at the same gate and all before it is flushed, with
/// {run_id, place, chunk_watermark, run_clock_ns}; whoever shows "stopped" waits for that
/// watermark. A failure in a request is an answer with "error"; it never ends the run.
class ControlServer {
 public:
  struct Options {
    std::string run_id;
    std::string trace_path;  ///< where lost chunks are read again; empty: they cannot be
    int input = 0;           ///< descriptor that requests come from
  };
  ControlServer(Gate& gate, traces::Recorder& recorder, std::shared_ptr<traces::FrameWriter> writer,
                Options options);
  ~ControlServer();

  /// Tells the other side how the run ended. `failure` is empty when it ended well.
  void announceEnd(const std::string& failure, bool stopped);

 private:
  void loop();
  void readInput();
  void handle(const nlohmann::json& request);
  void dispatch(const nlohmann::json& request, nlohmann::json& reply);
  void resend(const nlohmann::json& request, nlohmann::json& reply);
  void answerPending();
  void send(const nlohmann::json& message);
  nlohmann::json state() const;

  Gate& gate_;
  traces::Recorder& recorder_;
  std::shared_ptr<traces::FrameWriter> writer_;
  Options options_;
  traces::FrameDecoder decoder_;
  std::optional<nlohmann::json> pending_;  // the pause or step that waits for its answer
  bool stop_at_end_of_input_ = false;
  bool input_open_ = true;
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

/// JSON form of a place, as frames carry it.
nlohmann::json toJson(const traces::Place& place);

}  // namespace ringscope::engine
