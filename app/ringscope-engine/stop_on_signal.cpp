// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/stop_on_signal.h"

#include <csignal>
#include <ctime>

namespace ringscope::app {

StopOnSignal::StopOnSignal(engine::Gate& gate) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this, &gate, signals] {
    const timespec patience{0, 50'000'000};
    while (!done_)
      if (sigtimedwait(&signals, nullptr, &patience) > 0) gate.stop();
  });
}

StopOnSignal::~StopOnSignal() {
  done_ = true;
  watcher_.join();
}

}  // namespace ringscope::app
