// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "engine/control/controlled_run.h"
#include "engine/gate/gate.h"
#include "traces/exchange/control/messages.h"
#include "traces/format/stream/frame.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::engine {

/// The engine's side of the control connection. traces/exchange/control defines every message. Each
/// request is answered by a Reply. A failed or malformed request gets an answer with the reason and
/// never ends the run.
///
/// A pause or step is answered when every rank stands at the same gate and all earlier records are
/// flushed. A client must wait for the answer's watermark before it shows "stopped". While ranks
/// are still on their way to the gate, a Waiting message lists them every two seconds.
///
/// The connection ends with its input, with the first malformed frame, or when nobody reads the
/// answers. The run is then stopped if Hello asked for it. Otherwise the run continues to its end,
/// and pauses and breaks no longer hold it.
class ControlServer {
 public:
  struct Options {
    std::string run_id;
    std::string trace_path;  ///< the file from which lost chunks are read again; empty: none
    int input = 0;           ///< the descriptor that requests come from
    std::function<void(const std::string& json)> seal;  ///< stores text that the doctor must not
                                                        ///< see
  };
  /// Starts serving. All references must outlive the server.
  ControlServer(Gate& gate, ControlledRun& run, std::shared_ptr<traces::FrameWriter> writer,
                Options options);
  ~ControlServer();

  /// Reports whether the other side has sent `continue` or `stop`, or can no longer send anything.
  /// Earlier requests, such as a break, take effect from the first gate on.
  bool mayStart() const { return may_start_; }
  /// Pauses the run if a break on divergences is set and one of the diffs exceeds it. Thread-safe.
  void diffsArrived(const std::vector<traces::DiffRecord>& diffs);
  /// Tells the other side how the run ended. `failure` is empty for a run that succeeded.
  void announceEnd(const std::string& failure, bool stopped);

 private:
  void loop();
  void readInput();
  void disconnect();
  void runAlone();
  void handle(const traces::Frame& frame);
  /// Returns the answer, or nullopt if it is sent later.
  std::optional<traces::control::Answer> granted(const traces::control::RequestHead& head,
                                                 const traces::control::Request& request);
  void greet(const traces::control::Hello& hello);
  void stopSoon(const traces::control::RequestHead& head, const traces::control::Request& request);
  traces::control::Resent resend(const traces::control::Resend& asked);
  void setBreak(const traces::control::Break& asked);
  traces::control::ChangedFrom changed(const char* cmd, const std::string& mistake,
                                       std::int32_t from_train_step);
  void requirePaused() const;
  void answerPending();
  void tellWhoIsLate();
  void announceBreak();
  traces::control::StopReport stopReport(const std::optional<traces::Place>& place);
  traces::control::StateReport state() const;
  void send(const traces::control::Message& message);

  Gate& gate_;
  ControlledRun& run_;
  std::shared_ptr<traces::FrameWriter> writer_;
  Options options_;
  traces::FrameDecoder decoder_{traces::kMaxRequestBytes};
  std::optional<traces::control::RequestHead> pending_;  // a pause or step that was not answered
                                                         // yet
  std::chrono::steady_clock::time_point pending_said_;   // when Waiting was last sent
  std::atomic<double> break_ratio_{kNoBreak};            // error ÷ limit
  bool breaks_on_non_finite_ = false;
  bool stop_is_known_ = false;  // the other side knows where the ranks stand
  bool stop_at_end_of_input_ = false;
  bool connected_ = true;
  std::atomic<bool> may_start_{false};
  std::atomic<bool> closing_{false};
  std::thread thread_;

  static constexpr double kNoBreak = -1;
};

}  // namespace ringscope::engine
