// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/place.h"

namespace ringscope::test {

inline traces::WorldRank rank(int number) {
  return traces::WorldRank::of(number);
}
inline constexpr traces::WorldRank kZero = traces::WorldRank::of(0),
                                   kOne = traces::WorldRank::of(1);

/// Returns a place from its numbers; -1 means none.
inline traces::Place placeAt(int train_step, int layer, traces::Direction direction, int stage) {
  return {train_step, traces::Layer::of(layer), direction, traces::RingStep::of(stage)};
}
/// Returns a ring step of the first training step.
inline traces::Place forwardAt(int layer, int stage) {
  return placeAt(0, layer, traces::Direction::kForward, stage);
}
inline traces::Place backwardAt(int layer, int stage) {
  return placeAt(0, layer, traces::Direction::kBackward, stage);
}

}  // namespace ringscope::test
