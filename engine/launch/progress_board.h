// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "engine/launch/shared_memory.h"
#include "traces/schema/event.h"

namespace ringscope::engine {

/// Where a rank process is, in memory that it shares with whoever supervises it. Written by the
/// rank, read at any moment; fields may be a moment apart.
struct ProgressSlot {
  std::atomic<std::int64_t> beat_ns;  ///< steadyNow() of the last heartbeat; 0: none yet
  std::atomic<std::int64_t> cpu_ns;   ///< CPU time of the rank's thread by then
  std::atomic<std::uint64_t> epoch;   ///< stages begun
  std::atomic<std::int32_t> train_step, layer, direction, ring_step;
  std::atomic<std::int32_t> operation;    ///< an EventKind; -1: none
  std::atomic<std::int32_t> waiting_for;  ///< -2: nobody, -1: all of a group, else that rank
  std::atomic<std::int32_t> paused;       ///< held at a gate
  std::atomic<std::int64_t> failed_ns;    ///< steadyNow() of its failure; 0: none

  traces::Place place() const;
  /// "attend at step 1, layer 0, forward, ring step 2".
  std::string describe() const;
};

inline constexpr std::int32_t kWaitsForNobody = -2, kWaitsForAll = -1;

/// One slot a rank, in anonymous shared memory that child processes inherit.
class ProgressBoard {
 public:
  /// Throws runFailed when there is no memory for it.
  explicit ProgressBoard(int ranks);

  ProgressSlot& slot(int rank) const { return slots_[rank]; }
  /// What a child finds it by; for its environment.
  int descriptor() const { return memory_.descriptor(); }
  static constexpr const char* kVariable = "RINGSCOPE_PROGRESS_FD";

 private:
  SharedMemory memory_;
  ProgressSlot* slots_;
};

/// While it lives, the calling thread reports what it does into a slot, and a thread of its own
/// beats every 50 ms.
class ProgressReport {
 public:
  /// Into the slot of `rank` that a supervisor has left in the environment, if there is one.
  explicit ProgressReport(int rank);
  explicit ProgressReport(ProgressSlot& slot);
  /// Whether anybody reads it.
  bool isRead() const { return slot_ != nullptr; }
  ~ProgressReport();
  ProgressReport(const ProgressReport&) = delete;
  ProgressReport& operator=(const ProgressReport&) = delete;

 private:
  void begin();

  std::optional<SharedMemory> memory_;
  ProgressSlot* slot_ = nullptr;
  std::atomic<bool> ended_{false};
  std::thread heart_;
};

/// What the calling thread does; next to free where nobody supervises.
void reportPlace(const traces::Place& place);
void reportOperation(traces::EventKind kind);
/// The calling thread has failed; call before its connections close, since its peers fail then.
void reportFailure();
/// While it lives, the calling thread waits for a rank (of its communicator), or is held.
class WaitReport {
 public:
  explicit WaitReport(int peer);
  ~WaitReport();
};
class PauseReport {
 public:
  PauseReport();
  ~PauseReport();
};

}  // namespace ringscope::engine
