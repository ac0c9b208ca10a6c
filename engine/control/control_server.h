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

/// The engine's side of the control connection. traces/exchange/control defines every message; each
/// request is answered by a Reply. A pause or step is answered when every rank stands at the same
/// gate and all before it is flushed; whoever shows "stopped" waits for the answer's watermark.
/// While ranks do not come to their gate, Waiting says which, every two seconds. A failure in a
/// request, or a request that cannot be understood, is an answer that says why; it never ends the
/// run. The connection ends with its input, with the first frame that cannot be, and when nobody
/// reads the answers any more: then the run is stopped where Hello said so, else it goes on to its
/// end, and neither a pause nor a break holds it.
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

  /// Whether the other side has said `continue` or `stop`, or can say nothing any more. What it
  /// asks for before that, a break for instance, holds from the first gate on.
  bool mayStart() const { return may_start_; }
  /// Pauses the run when a break on divergences is set and one of these is one. Any thread.
  void diffsArrived(const std::vector<traces::DiffRecord>& diffs);
  /// Tells the other side how the run ended. `failure` is empty when it ended well.
  void announceEnd(const std::string& failure, bool stopped);

 private:
  void loop();
  void readInput();
  void disconnect();
  void runAlone();
  void handle(const traces::Frame& frame);
  /// The answer; nothing when it comes later.
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
  std::optional<traces::control::RequestHead> pending_;  // a pause or step without its answer
  std::chrono::steady_clock::time_point pending_said_;   // when its waiting was last spoken of
  std::atomic<double> break_ratio_{kNoBreak};            // error ÷ limit
  bool breaks_on_non_finite_ = false;
  bool stop_is_known_ = false;  // the other side has been told where the ranks stand
  bool stop_at_end_of_input_ = false;
  bool connected_ = true;
  std::atomic<bool> may_start_{false};
  std::atomic<bool> closing_{false};
  std::thread thread_;

  static constexpr double kNoBreak = -1;
};

}  // namespace ringscope::engine
