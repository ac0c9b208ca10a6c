// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "traces/core/place.h"

namespace ringscope::engine {

/// Thrown at a gate when the run is asked to stop; every rank gets it at the same gate.
struct StopRequested {};

enum class StepUnit { kStage, kLayer, kTrainStep };

/// Where a run should stop by itself: every field that is set must agree with the gate's place.
struct BreakPoint {
  std::optional<std::int32_t> train_step;
  std::optional<std::int16_t> layer;
  std::optional<traces::Direction> direction;
  std::optional<std::int16_t> stage;

  bool matches(const traces::Place& place) const;
};

/// The gates that lie at stage borders. All ranks pass the same sequence of gates, so a gate's
/// number is a place that is the same for all: a pause picks the first gate that no rank has passed
/// yet, and every rank stops there. Thread-safe.
class Gate {
 public:
  explicit Gate(int ranks);

  /// Called by a rank at a stage border. Blocks while paused; returns true when it did. Throws
  /// StopRequested.
  /// With `hold`, the rank also waits until that is false, and can be paused while it does: a pause
  /// need not wait for what the rank is waiting for. `hold` is asked under the gate's lock, again
  /// after every poke(), and must give every rank the same answer in the end.
  bool arrive(int rank, const traces::Place& place, const std::function<bool()>& hold = {});
  /// What a hold waits for may have changed.
  void poke();
  /// Called by a rank that will pass no more gates.
  void leave(int rank);

  void pause();
  void resume();
  /// From a paused run: on to the next gate, layer or training step. False when it is not paused.
  bool step(StepUnit unit);
  /// Pauses at every matching gate from the first that no rank has passed; nothing: at none.
  void setBreak(const std::optional<BreakPoint>& at);
  /// Ends the run at the next gate that is the same for all.
  void stop();

  /// The place where every rank that has not left stands, or nothing while one is on its way.
  std::optional<traces::Place> stoppedAt() const;
  /// Blocks until stoppedAt() has a place or every rank has left.
  std::optional<traces::Place> waitUntilStopped();
  /// True when every rank has left.
  bool over() const;
  bool stopRequested() const;

 private:
  bool reached(std::int64_t number, const traces::Place& place) const;
  bool allStopped() const;
  bool anyWaiting() const;
  std::int64_t firstCommonGate() const;
  bool standAt(std::unique_lock<std::mutex>& lock, std::size_t rank, std::int64_t number,
               const traces::Place& place);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> passed_;  // gates that each rank has reached
  std::vector<bool> waiting_, left_, holding_;
  traces::Place place_;               // of the gate where the ranks stand
  std::optional<std::int64_t> halt_;  // ranks stop at this gate number
  std::optional<StepUnit> stepping_;  // no number yet: the first rank to fit sets halt_
  std::optional<BreakPoint> break_;
  std::int64_t break_from_ = 0;  // gates before this number had been passed by some when it was set
  bool stopping_ = false;
};

}  // namespace ringscope::engine
