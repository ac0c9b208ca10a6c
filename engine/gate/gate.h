// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/progress/shared_memory.h"
#include "traces/exchange/control/requests.h"
#include "traces/format/schema/place.h"

namespace ringscope::engine {

/// The exception that a gate throws when the run is asked to stop. Every rank gets it at the same
/// gate.
struct StopRequested {};

using traces::GroupRank;
using traces::control::BreakPoint;
using traces::control::StepUnit;

/// The sequence of gates at stage borders, where ranks can be held. All ranks pass the same
/// sequence of gates, so a gate's number means the same place on every rank. A pause selects the
/// first gate that no rank has passed yet, and every rank stops there. Its ranks are the ranks that
/// pass this gate. Thread-safe, also between processes that share its memory, any of which may be
/// killed at any time.
class Gate {
 public:
  /// Makes a gate for threads of this process.
  explicit Gate(int ranks);
  /// Makes a gate for processes in `shared`, of at least bytesFor(ranks) bytes, or uses an
  /// inherited gate.
  Gate(int ranks, SharedMemory shared);
  /// Returns the gate that a parent left in the environment, or a new gate of this process.
  static Gate inheritedOr(int ranks);
  static std::size_t bytesFor(int ranks);
  static constexpr const char* kVariable = "RINGSCOPE_GATE_FD";
  /// Returns the descriptor for a child's environment; -1 if the gate is not shared.
  int descriptor() const;
  /// Reports whether ranks of other processes pass this gate too.
  bool isShared() const { return shared_.has_value(); }
  ~Gate();

  /// Passes a stage border; called by a rank. Blocks while the run is paused, and returns whether
  /// it blocked. Throws StopRequested.
  ///
  /// With `hold`, the rank also waits until `hold` returns false. The rank can be paused meanwhile,
  /// so a pause need not wait for the reason of the hold. The gate calls `hold` under its lock,
  /// again after every poke(). It must eventually return the same value on every rank.
  bool arrive(GroupRank rank, const traces::Place& place, const std::function<bool()>& hold = {});
  /// Makes held ranks call `hold` again.
  void poke();
  /// Marks that a rank will pass no more gates; called by that rank.
  void leave(GroupRank rank);

  void pause();
  void resume();
  /// Stops the ranks while something is changed. Afterwards release() lets them go on. They stay if
  /// a pause or a break has asked for the same stop meanwhile, or if the run was stopping before.
  void hold();
  void release();
  /// Resumes a paused run until the next gate, layer or training step. Returns false if the run is
  /// not paused.
  bool step(StepUnit unit);
  /// Pauses at every gate that matches, starting with the first that no rank has passed. nullopt
  /// removes the break.
  void setBreak(const std::optional<BreakPoint>& at);
  /// Ends the run at the next gate that no rank has passed.
  void stop();

  /// Returns the place where all ranks that have not left stand, or nullopt while a rank is on its
  /// way.
  std::optional<traces::Place> stoppedAt() const;
  /// Returns {rank, place} of ranks that should stand by now and do not. The place is of the last
  /// gate that they passed.
  std::vector<std::pair<GroupRank, traces::Place>> onTheirWay() const;
  /// Blocks until stoppedAt() returns a place or every rank has left.
  std::optional<traces::Place> waitUntilStopped();
  /// Reports whether every rank has left.
  bool over() const;
  bool stopRequested() const;

 private:
  struct State;
  struct Rank;
  class Lock;

  Gate(int ranks, std::optional<SharedMemory> shared, bool fresh);
  std::span<Rank> ranks() const;
  bool breaksAt(std::int64_t number, const traces::Place& place) const;
  bool reached(std::int64_t number, const traces::Place& place) const;
  bool allStopped() const;
  bool anyWaiting() const;
  std::int64_t firstCommonGate() const;
  std::int64_t lastPassed() const;
  void standDown();
  bool standAt(Lock& lock, Rank& rank, std::int64_t number, const traces::Place& place);

  std::optional<SharedMemory> shared_;
  std::unique_ptr<std::byte[]> own_;
  State* state_;
};

}  // namespace ringscope::engine
