// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/place.h"

namespace ringscope::test {

/// Returns a place from its numbers; -1 means none.
inline traces::Place placeAt(int train_step, int layer, traces::Direction direction, int stage) {
  return {train_step, traces::Layer::of(layer), direction, traces::RingStep::of(stage)};
}

}  // namespace ringscope::test
