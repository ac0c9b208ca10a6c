// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "traces/analysis/account/step_account.h"
#include "traces/analysis/clock/recorded_program.h"
#include "traces/analysis/clock/timeline.h"

namespace ringscope::traces {

/// The recorded schedule of one training step. Each link or device that is tried replays it.
using RecordedStep = std::shared_ptr<const RecordedProgram>;
/// Reads the schedule from the events of one step, on any thread. Throws Stopped.
RecordedStep recordedStep(StepEvents events, const std::stop_token& stop = {});
/// Says why a step has no model, and which capture would give one. Empty when it has one.
std::string whyNoModel(const RecordedProgram& recorded);

/// A rank's own time in the run and in the model, in nanoseconds.
struct ClockKnot {
  double run_ns = 0, axis_ns = 0;
};

/// One recorded training step as if every rank had its own device: a model, by the same code as
/// `ringscope predict --step`. Immutable, so that it may be made on any thread.
struct OwnClock {
  std::int32_t train_step = 0;
  Hardware hardware;
  RecordedStep recorded;
  ModelTimeline timeline;
  /// The recorded events per rank at the times of the model, nanoseconds since the step began.
  /// Pauses and verification have no length.
  std::vector<std::vector<Event>> events;
  std::vector<std::vector<ClockKnot>> knots;  ///< by rank; both times ascend

  /// Returns the time of the model at which a rank is as far as at this time of the run, and the
  /// reverse. Times between two borders of events are interpolated.
  double modelled(WorldRank rank, std::int64_t run_ns) const;
  std::int64_t recordedAt(WorldRank rank, double axis_ns) const;
};

/// Replays a recorded step, which must be usable. Throws what replay() throws.
OwnClock makeOwnClock(RecordedStep recorded, std::int32_t train_step, const Hardware& hardware,
                      const std::stop_token& stop = {});
/// Reports whether the model leaves an event of this kind out.
bool isLeftOut(EventKind kind);

/// Accounts for the step of these ranks by the model. The exposed, hidden and late times are those
/// of `ringscope predict`, which also counts collectives as exposed.
StepAccount makeStepAccount(const OwnClock& clock, const std::vector<WorldRank>& ranks);

/// Writes a value with three digits: "31.5", "1,170".
std::string describeFigure(double value);
/// Describes hardware: "PCIe 4.0 ×16 without overlap, H100 SXM at 60 % of its peak (compute ×2), at
/// least 2.4 µs per kernel,". A link that is no preset is described by its figures.
std::string describe(const Hardware& hardware);

}  // namespace ringscope::traces
