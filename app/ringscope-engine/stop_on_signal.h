// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "engine/gate/gate.h"

namespace ringscope::app {

/// A guard that makes Ctrl-C (or SIGTERM) stop the run cleanly at the next gate instead of killing
/// the process. Construct it before any other thread starts, so that threads inherit the blocked
/// signals.
class StopOnSignal {
 public:
  explicit StopOnSignal(engine::Gate& gate);
  ~StopOnSignal();

 private:
  std::atomic<bool> done_{false};
  std::thread watcher_;
};

}  // namespace ringscope::app
