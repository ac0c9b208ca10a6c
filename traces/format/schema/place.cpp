// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/place.h"

#include <tuple>

namespace ringscope::traces {

bool before(const Place& a, const Place& b) {
  auto key = [](const Place& p) {
    const int layer = p.direction == Direction::kForward ? p.layer.value() : -p.layer.value();
    return std::tuple(p.train_step, static_cast<int>(p.direction), layer, p.stage.value());
  };
  return key(a) < key(b);
}

std::string describe(const Place& place) {
  std::string text = "step " + std::to_string(place.train_step);
  if (place.layer.exists()) text += " › layer " + toString(place.layer);
  text += std::string(" › ") + name(place.direction);
  if (place.stage.exists()) text += " › ring step " + toString(place.stage);
  return text;
}

}  // namespace ringscope::traces
