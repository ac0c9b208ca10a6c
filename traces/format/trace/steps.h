// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <set>

#include "traces/format/schema/place.h"

namespace ringscope::traces {

/// Return the first and the last place of a training step, for Trace::eventsAt.
inline Place firstPlaceIn(std::int32_t train_step) {
  return {train_step, Layer::none(), Direction::kForward, RingStep::none()};
}
inline Place lastPlaceIn(std::int32_t train_step) {
  // Backward visits layers in reverse, and places outside the layers last.
  return {train_step, Layer::none(), Direction::kBackward,
          RingStep::of(std::numeric_limits<RingStep::Value>::max())};
}

class Trace;

/// Returns the training steps of which a rank recorded a tensor.
std::set<std::int32_t> stepsWithTensors(const Trace& trace);

}  // namespace ringscope::traces
