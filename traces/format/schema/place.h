// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "traces/format/schema/ids.h"
#include "traces/format/schema/names.h"

namespace ringscope::traces {

/// Values are serialized: append, never renumber.
enum class Direction : std::uint8_t { kForward = 0, kBackward, kCount };
template <>
struct EnumNames<Direction> {
  static constexpr const char* kWhat = "direction";
  static constexpr std::array<const char*, 2> kNames = {"forward", "backward"};
};

/// The pass of a layer that computed something. Values are serialized: append, never renumber.
enum class Pass : std::uint8_t { kForward = 0, kRecompute, kBackward, kCount };
template <>
struct EnumNames<Pass> {
  static constexpr const char* kWhat = "pass";
  static constexpr std::array<const char*, 3> kNames = {"forward", "recompute", "backward"};
};

/// A place on the logical axis that every rank passes: one ring step of one layer in one direction
/// of one training step. The field `layer` is none outside the decoder layers, and `stage` is none
/// outside attention. Backward visits layers in reverse, so places are ordered by `before` and not
/// by their fields.
struct Place {
  std::int32_t train_step = 0;
  Layer layer;
  Direction direction = Direction::kForward;
  RingStep stage;

  friend bool operator==(const Place&, const Place&) = default;
};

/// Reports whether a rank visits a before b.
bool before(const Place& a, const Place& b);

/// Describes a place: "step 3 › layer 1 › backward › ring step 2". Parts that do not apply are left
/// out.
std::string describe(const Place& place);

}  // namespace ringscope::traces
