// SPDX-License-Identifier: Apache-2.0
#include "engine/control/break_request.h"

#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

BreakPoint pointFrom(const nlohmann::json& at) {
  if (!at.is_object()) throw usageError("a break's \"at\" is an object, or null for none");
  BreakPoint point;
  for (const auto& [key, value] : at.items()) {
    if (key == "train_step")
      point.train_step = value.get<std::int32_t>();
    else if (key == "layer")
      point.layer = value.get<std::int16_t>();
    else if (key == "stage")
      point.stage = value.get<std::int16_t>();
    else if (key == "direction" && value == "forward")
      point.direction = traces::Direction::kForward;
    else if (key == "direction" && value == "backward")
      point.direction = traces::Direction::kBackward;
    else
      throw usageError(
          "a break is at train_step, layer, direction (forward or backward) and stage; '" + key +
          "' is none of them or has no such value");
  }
  return point;
}

}  // namespace

BreakRequest BreakRequest::fromJson(const nlohmann::json& request) {
  BreakRequest asked;
  if (const auto at = request.find("at"); at != request.end() && !at->is_null())
    asked.place = pointFrom(*at);
  if (const auto on = request.find("on"); on != request.end() && !on->is_null()) {
    asked.on_divergence = *on == "divergence";
    asked.on_non_finite = *on == "non_finite";
    if (!asked.on_divergence && !asked.on_non_finite)
      throw usageError("a break is \"on\": \"divergence\" or \"non_finite\", or at a place");
    asked.multiple = request.value("multiple", asked.multiple);
    if (!(asked.multiple > 0)) throw usageError("a break's \"multiple\" is above 0");
  }
  return asked;
}

}  // namespace ringscope::engine
