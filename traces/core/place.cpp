// SPDX-License-Identifier: Apache-2.0
#include "traces/core/place.h"

#include <tuple>

namespace ringscope::traces {

bool before(const Place& a, const Place& b) {
  auto key = [](const Place& p) {
    const int layer = p.direction == Direction::kForward ? p.layer : -p.layer;
    return std::tuple(p.train_step, static_cast<int>(p.direction), layer,
                      static_cast<int>(p.stage));
  };
  return key(a) < key(b);
}

std::string describe(const Place& place) {
  std::string text = "step " + std::to_string(place.train_step);
  if (place.layer >= 0) text += " › layer " + std::to_string(place.layer);
  text += std::string(" › ") + name(place.direction);
  if (place.stage >= 0) text += " › ring step " + std::to_string(place.stage);
  return text;
}

const char* name(Direction direction) {
  return direction == Direction::kForward ? "forward" : "backward";
}

}  // namespace ringscope::traces
