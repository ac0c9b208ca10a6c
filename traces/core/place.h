// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace ringscope::traces {

enum class Direction : std::uint8_t { kForward = 0, kBackward = 1 };

/// A place on the logical axis that every rank passes: one ring step of one layer in one direction
/// of one training step. `layer` is -1 outside the decoder layers and `stage` is -1 outside
/// attention. Backward visits layers in reverse, which is why places are ordered by `before` and
/// not by their fields.
struct Place {
  std::int32_t train_step = 0;
  std::int16_t layer = -1;
  Direction direction = Direction::kForward;
  std::int16_t stage = -1;

  friend bool operator==(const Place&, const Place&) = default;
};

/// True when a comes before b in the order in which one rank visits them.
bool before(const Place& a, const Place& b);

/// "step 3 › layer 1 › backward › ring step 2"; parts that do not apply are left out.
std::string describe(const Place& place);

const char* name(Direction direction);

}  // namespace ringscope::traces
