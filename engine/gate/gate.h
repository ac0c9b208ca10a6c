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

/// Thrown at a gate when the run is asked to stop; every rank gets it at the same gate.
struct StopRequested {};

using traces::GroupRank;
using traces::control::BreakPoint;
using traces::control::StepUnit;

/// The gates that lie at stage borders. All ranks pass the same sequence of gates, so a gate's
/// number is a place that is the same for all: a pause picks the first gate that no rank has passed
/// yet, and every rank stops there. Ranks are those that pass this gate. Thread-safe, and safe
/// between processes that share its memory, one of which may be killed at any time.
class Gate {
 public:
  /// For threads of this process.
  explicit Gate(int ranks);
  /// For processes: made in `shared`, which has at least bytesFor(ranks), unless it was inherited.
  Gate(int ranks, SharedMemory shared);
  /// The gate that a parent left in the environment, else one of this process's own.
  static Gate inheritedOr(int ranks);
  static std::size_t bytesFor(int ranks);
  static constexpr const char* kVariable = "RINGSCOPE_GATE_FD";
  /// For a child's environment; -1 where the gate is not shared.
  int descriptor() const;
  /// Whether ranks of other processes pass this gate too.
  bool isShared() const { return shared_.has_value(); }
  ~Gate();

  /// Called by a rank at a stage border. Blocks while paused; returns true when it did. Throws
  /// StopRequested.
  /// With `hold`, the rank also waits until that is false, and can be paused while it does: a pause
  /// need not wait for what the rank is waiting for. `hold` is asked under the gate's lock, again
  /// after every poke(), and must give every rank the same answer in the end.
  bool arrive(GroupRank rank, const traces::Place& place, const std::function<bool()>& hold = {});
  /// What a hold waits for may have changed.
  void poke();
  /// Called by a rank that will pass no more gates.
  void leave(GroupRank rank);

  void pause();
  void resume();
  /// A stop for the time in which something is changed: release() lets the ranks go on, unless a
  /// pause or a break has asked for the same stop meanwhile, or the run was to stop before.
  void hold();
  void release();
  /// From a paused run: on to the next gate, layer or training step. False when it is not paused.
  bool step(StepUnit unit);
  /// Pauses at every matching gate from the first that no rank has passed; nothing: at none.
  void setBreak(const std::optional<BreakPoint>& at);
  /// Ends the run at the next gate that is the same for all.
  void stop();

  /// The place where every rank that has not left stands, or nothing while one is on its way.
  std::optional<traces::Place> stoppedAt() const;
  /// Where ranks passed their last gate that should stand still by now and do not: {rank, place}.
  std::vector<std::pair<GroupRank, traces::Place>> onTheirWay() const;
  /// Blocks until stoppedAt() has a place or every rank has left.
  std::optional<traces::Place> waitUntilStopped();
  /// True when every rank has left.
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
