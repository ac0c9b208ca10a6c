// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "engine/progress/shared_memory.h"
#include "traces/format/schema/event.h"

namespace ringscope::engine {

/// The peer that a rank waits for.
struct Waiting {
  bool waits = false;
  traces::WorldRank peer;  ///< none: all ranks of its group
};

/// The progress of a rank process, in memory shared with its supervisor. The rank writes it, and
/// the supervisor reads it at any time; fields may be slightly out of step with each other.
struct ProgressSlot {
  std::atomic<std::int64_t> beat_ns;  ///< steadyNow() of the last heartbeat; 0: none yet
  std::atomic<std::int64_t> cpu_ns;   ///< CPU time of the rank's thread at the last heartbeat
  std::atomic<std::uint64_t> epoch;   ///< number of stages begun
  std::atomic<std::int32_t> train_step, direction;
  std::atomic<traces::Layer> layer;
  std::atomic<traces::RingStep> ring_step;
  std::atomic<std::int32_t> operation;  ///< an EventKind; -1: none
  std::atomic<Waiting> waiting;
  std::atomic<std::int32_t> paused;     ///< held at a gate
  std::atomic<std::int64_t> failed_ns;  ///< steadyNow() of its failure; 0: none

  traces::Place place() const;
  /// Returns a description such as "attend at step 1, layer 0, forward, ring step 2".
  std::string describe() const;
};
// The atomics must be lock-free, because other processes map the memory and cannot share a lock.
static_assert(std::atomic<Waiting>::is_always_lock_free);

/// One slot per rank, in anonymous shared memory that child processes inherit.
class ProgressBoard {
 public:
  /// Allocates the board. Throws runFailed if there is no memory.
  explicit ProgressBoard(int ranks);

  ProgressSlot& slot(traces::WorldRank rank) const { return slots_[rank.index()]; }
  /// Returns the descriptor for a child's environment.
  int descriptor() const { return memory_.descriptor(); }
  static constexpr const char* kVariable = "RINGSCOPE_PROGRESS_FD";

 private:
  SharedMemory memory_;
  ProgressSlot* slots_;
};

/// A guard that reports the calling thread's progress into a slot. A second thread writes a
/// heartbeat every 50 ms.
class ProgressReport {
 public:
  /// Reports into the slot of `rank` on the board that a supervisor left in the environment, if
  /// any.
  explicit ProgressReport(traces::WorldRank rank);
  explicit ProgressReport(ProgressSlot& slot);
  /// Reports whether a supervisor reads the slot.
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

/// Reports the calling thread's place. Costs almost nothing without a supervisor.
void reportPlace(const traces::Place& place);
/// Reports the calling thread's operation. Costs almost nothing without a supervisor.
void reportOperation(traces::EventKind kind);
/// Reports that the calling thread has failed. Call it before its connections close, because its
/// peers fail then.
void reportFailure();
/// A guard that reports that the calling thread waits for a rank (none: for all ranks of its
/// group).
class WaitReport {
 public:
  explicit WaitReport(traces::WorldRank peer);
  ~WaitReport();
};
class PauseReport {
 public:
  PauseReport();
  ~PauseReport();
};

}  // namespace ringscope::engine
