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

/// Whom a rank waits for.
struct Waiting {
  bool waits = false;
  traces::WorldRank peer;  ///< none: all ranks of its group
};

/// Where a rank process is, in memory that it shares with whoever supervises it. Written by the
/// rank, read at any moment; fields may be a moment apart.
struct ProgressSlot {
  std::atomic<std::int64_t> beat_ns;  ///< steadyNow() of the last heartbeat; 0: none yet
  std::atomic<std::int64_t> cpu_ns;   ///< CPU time of the rank's thread by then
  std::atomic<std::uint64_t> epoch;   ///< stages begun
  std::atomic<std::int32_t> train_step, direction;
  std::atomic<traces::Layer> layer;
  std::atomic<traces::RingStep> ring_step;
  std::atomic<std::int32_t> operation;  ///< an EventKind; -1: none
  std::atomic<Waiting> waiting;
  std::atomic<std::int32_t> paused;     ///< held at a gate
  std::atomic<std::int64_t> failed_ns;  ///< steadyNow() of its failure; 0: none

  traces::Place place() const;
  /// "attend at step 1, layer 0, forward, ring step 2".
  std::string describe() const;
};
// Other processes map the memory too, and have no lock with this one.
static_assert(std::atomic<Waiting>::is_always_lock_free);

/// One slot a rank, in anonymous shared memory that child processes inherit.
class ProgressBoard {
 public:
  /// Throws runFailed when there is no memory for it.
  explicit ProgressBoard(int ranks);

  ProgressSlot& slot(traces::WorldRank rank) const { return slots_[rank.index()]; }
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
  explicit ProgressReport(traces::WorldRank rank);
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
/// While it lives, the calling thread waits for a rank (none: for all of its group), or is held.
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
