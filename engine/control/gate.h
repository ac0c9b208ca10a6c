// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "traces/core/place.h"

namespace ringscope::engine {

/// Thrown at a gate when the run is asked to stop; every rank gets it at the same gate.
struct StopRequested {};

enum class StepUnit { kStage, kLayer, kTrainStep };

/// The gates that lie at stage borders. All ranks pass the same sequence of gates, so a gate's
/// number is a place that is the same for all: a pause picks the first gate that no rank has passed
/// yet, and every rank stops there. Thread-safe.
class Gate {
 public:
  explicit Gate(int ranks);

  /// Called by a rank at a stage border. Blocks while paused; returns true when it did. Throws
  /// StopRequested.
  bool arrive(int rank, const traces::Place& place);
  /// Called by a rank that will pass no more gates.
  void leave(int rank);

  void pause();
  void resume();
  /// From a paused run: on to the next gate, layer or training step. False when it is not paused.
  bool step(StepUnit unit);
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

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> passed_;  // gates that each rank has reached
  std::vector<bool> waiting_, left_;
  traces::Place place_;               // of the gate where the ranks stand
  std::optional<std::int64_t> halt_;  // ranks stop at this gate number
  std::optional<StepUnit> stepping_;  // no number yet: the first rank to fit sets halt_
  bool stopping_ = false;
};

}  // namespace ringscope::engine
