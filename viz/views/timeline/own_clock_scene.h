// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "traces/analysis/account/own_clock.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::viz {

using traces::ClockKnot;
using traces::describeFigure;
using traces::RecordedStep;
using traces::recordedStep;
using traces::whyNoModel;

/// The own-device clock with the tracks that draw it.
struct OwnClock : traces::OwnClock {
  std::shared_ptr<const Tracks> tracks;
};

/// Replays a step and makes the tracks that draw it. Throws what traces::replay() throws.
/// `recorded` must be usable.
std::shared_ptr<const OwnClock> makeDrawnOwnClock(RecordedStep recorded, std::int32_t train_step,
                                                  const traces::Hardware& hardware,
                                                  const std::stop_token& stop = {});

/// The event at the model's times of a stretch of its tracks; nothing: it is none of them.
std::optional<traces::Event> spanEvent(const OwnClock& clock, const SpanPlace& at);
/// All that may be meant: more than one where a rank did the same at once in several places.
std::vector<traces::Event> spanEvents(const OwnClock& clock, const SpanPlace& at);
/// Returns the details of a stretch: the figures of the model, and the recorded ones.
SpanDetails spanDetails(const OwnClock& clock, const SpanPlace& at);

/// Finds a stretch of one replay of a step in another replay; may not exist.
SpanPlace sameSpan(const OwnClock& before, const OwnClock& now, const SpanPlace& at);

}  // namespace ringscope::viz
