// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/format/schema/ids.h"
#include "traces/format/trace/admission.h"

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

/// Reports whether a field is true; not when there is none.
inline bool flagIn(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

/// Returns the world ranks of a list, without those that no job has.
inline std::vector<WorldRank> ranksIn(const nlohmann::json& object, const char* name) {
  std::vector<WorldRank> ranks;
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) return ranks;
  for (const nlohmann::json& rank : *list)
    if (rank.is_number_integer() && rank.get<std::int64_t>() >= 0 &&
        rank.get<std::int64_t>() < kMaxRanks)
      ranks.push_back(WorldRank::of(rank.get<std::int32_t>()));
  return ranks;
}

/// Returns the objects of the list with this key, as `read` reads them; empty when there is none.
template <typename Object>
std::vector<Object> objectsIn(const nlohmann::json& note, const std::string& key,
                              Object (*read)(const nlohmann::json&)) {
  std::vector<Object> objects;
  const auto list = note.is_object() ? note.find(key) : note.end();
  if (list == note.end() || !list->is_array()) return objects;
  for (const nlohmann::json& object : *list)
    if (object.is_object()) objects.push_back(read(object));
  return objects;
}

}  // namespace ringscope::traces
