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

/// What a gate keeps in memory that processes may share. For gate.cpp alone.
namespace ringscope::engine {

/// What the gate knows of one rank.
struct Gate::Rank {
  std::int64_t passed;  // gates that it has reached
  traces::Place place;  // of the last of them
  bool waiting, left, holding;
};

/// Lies in memory that several processes may map at different addresses: no pointers.
struct Gate::State {
  pthread_mutex_t mutex;                  // robust: whoever holds it may be killed
  std::atomic<std::uint32_t> generation;  // a futex: rises with every change
  int ranks;
  traces::Place place;               // of the gate where the ranks stand
  std::optional<std::int64_t> halt;  // ranks stop at this gate number
  std::optional<StepUnit> stepping;  // no number yet: the first rank to fit sets halt
  std::optional<BreakPoint> break_at;
  std::int64_t break_from;  // gates before this number had been passed by some when it was set
  bool only_held;           // nobody but hold() wants the stop
  bool stopping;
};

/// Holds the gate's mutex. A condition variable is of no use here: a waiter that is killed would
/// leave it unusable.
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
  /// What a killed rank left behind is whole: each change is a few plain stores, and the run ends.
  /// Nobody sleeps in the mutex: a waiter that is killed would take the next one's wake-up with it.
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
