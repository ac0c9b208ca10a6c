// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace ringscope::traces {

// Fields of an object in a note, which is untrusted: a field may be missing or of another type.

/// Returns a finite number; NaN when there is none.
inline double numberIn(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? at->get<double>()
                                               : std::numeric_limits<double>::quiet_NaN();
}

/// Returns a whole number of at least 0; `none` when there is none, or it is too large.
inline std::int64_t wholeIn(const nlohmann::json& object, const char* name, std::int64_t none) {
  const double value = numberIn(object, name);
  return value >= 0 && value < 1e15 ? static_cast<std::int64_t>(value) : none;
}

/// Returns a training step of at least 0.
inline std::int32_t stepIn(const nlohmann::json& object, const char* name) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(wholeIn(object, name, 0), kMost));
}

/// Returns a text; empty when there is none.
inline std::string textIn(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace ringscope::traces
