// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "engine/control/controlled_run.h"
#include "traces/format/stream/frame.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::engine {

/// A rank process's end of the connection to its supervisor. Records and answers go up through the
/// same writer, so the answer to a Flush comes after everything that was recorded before it. The
/// messages are those of the control connection (traces/exchange/control). An error in a request is
/// reported in its answer and never ends the rank.
class RankLink {
 public:
  /// Returns the descriptor that a supervisor left in the environment, or -1.
  static int inheritedDescriptor();
  /// Returns steadyNow() at the supervisor's run clock 0.
  static std::int64_t inheritedClock();
  static constexpr const char* kVariable = "RINGSCOPE_LINK_FD";
  static constexpr const char* kClockVariable = "RINGSCOPE_RUN_CLOCK";

  /// Starts the link. `writer` sends through `descriptor`. All references must outlive the link.
  RankLink(int descriptor, std::shared_ptr<traces::FrameWriter> writer, ControlledRun& run);
  ~RankLink();

 private:
  void loop();
  bool readRequests();
  void answer(const traces::Frame& frame);
  traces::control::Answer granted(const traces::control::Request& request);

  int descriptor_;
  std::shared_ptr<traces::FrameWriter> writer_;
  ControlledRun& run_;
  traces::FrameDecoder decoder_{traces::kMaxRequestBytes};
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace ringscope::engine
