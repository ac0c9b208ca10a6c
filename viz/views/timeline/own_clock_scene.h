// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "traces/analysis/clock/recorded_program.h"
#include "traces/analysis/clock/timeline.h"
#include "viz/views/timeline/span_details_scene.h"
#include "viz/views/timeline/step_account_scene.h"

namespace ringscope::viz {

/// The recorded schedule of one training step, which is replayed as often as a link or a device is
/// tried. Null where nothing is shown.
using RecordedStep = std::shared_ptr<const traces::RecordedProgram>;
/// On any thread; throws traces::Stopped.
RecordedStep recordedStep(traces::StepEvents events, const std::stop_token& stop = {});
/// Why there is no model of it, with the capture that would give one; empty: there is one.
std::string whyNoModel(const traces::RecordedProgram& recorded);

/// A rank's own time in the run and in the model, in nanoseconds.
struct ClockKnot {
  double run_ns = 0, axis_ns = 0;
};

/// One recorded training step as if every rank had its own device: a model, by the same code as
/// `ringscope predict --step`. Immutable, so that it may be made on any thread.
struct OwnClock {
  std::int32_t train_step = 0;
  traces::Hardware hardware;
  RecordedStep recorded;
  traces::ModelTimeline timeline;
  /// By rank: those of `recorded` at the model's times, nanoseconds since the step began. Pauses
  /// and verification are no part of it; they have no length.
  std::vector<std::vector<traces::Event>> events;
  std::shared_ptr<const Tracks> tracks;
  std::vector<std::vector<ClockKnot>> knots;  ///< by rank; both times ascend

  /// Where a rank is in the model when it is at a time of the run, and the other way round: between
  /// begins and ends of what it does as far along as there.
  double modelled(WorldRank rank, std::int64_t run_ns) const;
  std::int64_t recordedAt(WorldRank rank, double axis_ns) const;
};

/// Replays; throws what traces::replay() throws. `recorded` must be usable.
std::shared_ptr<const OwnClock> makeOwnClock(RecordedStep recorded, std::int32_t train_step,
                                             const traces::Hardware& hardware,
                                             const std::stop_token& stop = {});

/// The event at the model's times of a stretch of its tracks; nothing: it is none of them.
std::optional<traces::Event> eventOf(const OwnClock& clock, const SpanPlace& at);
/// All that may be meant: more than one where a rank did the same at once in several places.
std::vector<traces::Event> eventsOf(const OwnClock& clock, const SpanPlace& at);
/// What is known of it: the model's figures, and what was recorded.
SpanDetails detailsOf(const OwnClock& clock, const SpanPlace& at);

/// Where a stretch of one replay of a step lies in another; does not exist: nowhere.
SpanPlace sameSpan(const OwnClock& before, const OwnClock& now, const SpanPlace& at);

/// Where the time of the step goes by the model, for these ranks. Exposed, hidden and late are
/// those of `ringscope predict`; collectives count as exposed, as there.
StepAccount makeStepAccount(const OwnClock& clock, const std::vector<WorldRank>& ranks);

/// In three digits: "31.5", "1,170".
std::string describeFigure(double value);
/// "PCIe 4.0 ×16 without overlap, H100 SXM at 60 % of its peak (compute ×2), at least 2.4 µs per
/// kernel,"; a link of no preset by its figures.
std::string describe(const traces::Hardware& hardware);

}  // namespace ringscope::viz
