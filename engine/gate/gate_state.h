// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <thread>

#include "engine/gate/gate.h"

/// The state of a gate, in memory that processes may share. Used by gate.cpp only.
namespace ringscope::engine {

/// The state of one rank at the gate.
struct Gate::Rank {
  std::int64_t passed;  // number of gates that it has reached
  traces::Place place;  // of the last gate that it has reached
  bool waiting, left, holding;
};

/// The shared state of the gate. Processes may map it at different addresses, so it has no
/// pointers.
struct Gate::State {
  pthread_mutex_t mutex;                  // robust: its holder may be killed
  std::atomic<std::uint32_t> generation;  // a futex: increases with every change
  int ranks;
  traces::Place place;               // of the gate where the ranks stand
  std::optional<std::int64_t> halt;  // ranks stop at this gate number
  std::optional<StepUnit> stepping;  // no number yet: the first rank at a matching place sets halt
  std::optional<BreakPoint> break_at;
  std::int64_t break_from;  // some rank had passed the gates before this one when the break was set
  bool only_held;           // only hold() wants the stop
  bool stopping;
};

/// A lock on the gate's mutex. It does not use a condition variable, because a killed waiter would
/// leave that unusable.
class Gate::Lock {
 public:
  explicit Lock(State& state) : state_(state) { take(); }
  ~Lock() { ::pthread_mutex_unlock(&state_.mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  template <typename Condition>
  void waitUntil(Condition met) {
    while (!met()) {
      const std::uint32_t seen = state_.generation;
      ::pthread_mutex_unlock(&state_.mutex);
      ::syscall(SYS_futex, &state_.generation, FUTEX_WAIT, seen, nullptr, nullptr, 0);
      take();
    }
  }
  void changed() {
    ++state_.generation;
    ::syscall(SYS_futex, &state_.generation, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  /// Takes the mutex. The state is consistent after a rank was killed, because each change is a few
  /// plain stores and the run ends. Nobody sleeps in the mutex, because a killed waiter would lose
  /// the wake-up of the next one.
  void take() {
    constexpr int kPatience = 16;
    int result = ::pthread_mutex_trylock(&state_.mutex);
    for (int turn = 0; result == EBUSY; ++turn) {
      if (turn < kPatience)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      result = ::pthread_mutex_trylock(&state_.mutex);
    }
    if (result == EOWNERDEAD) ::pthread_mutex_consistent(&state_.mutex);
  }

  State& state_;
};

}  // namespace ringscope::engine
