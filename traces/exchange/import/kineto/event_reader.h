// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace ringscope::traces {

/// One complete event ("ph": "X") of a Kineto file.
struct KinetoEvent {
  std::string name, category;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< since the file's base time
  std::int64_t thread = 0;
  nlohmann::json args = nlohmann::json::object();  ///< those that the importer reads

  /// A number of the arguments, which is written as one or as its text.
  std::optional<std::int64_t> number(const char* key) const;
  std::string text(const char* key) const;
};

/// What a Kineto file says of itself, outside of its events.
struct KinetoHead {
  nlohmann::json distributed = nlohmann::json::object();  ///< distributedInfo
  std::optional<std::int64_t> base_ns;                    ///< baseTimeNanoseconds
  bool has_shapes = false;                                ///< record_shapes
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;  ///< events with times or sizes that cannot be
  std::string damage;          ///< why what follows could not be read; empty: it is whole
};

/// Reads a file of PyTorch's profiler from begin to end, one event at a time: no more than one is
/// in memory. Calls `take` for each complete event. Throws inputError where the file cannot be
/// opened.
KinetoHead readKineto(const std::string& path, const std::function<void(const KinetoEvent&)>& take);

}  // namespace ringscope::traces
