// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "traces/exchange/import/kineto/event_filter.h"
#include "traces/exchange/import/kineto/kineto_event.h"

namespace ringscope::traces {

/// The facts about a Kineto file outside of its events.
struct KinetoHead {
  nlohmann::json distributed = nlohmann::json::object();  ///< distributedInfo
  std::optional<std::int64_t> base_ns;                    ///< baseTimeNanoseconds
  bool has_shapes = false;                                ///< record_shapes
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;  ///< events that are read, with impossible times or sizes
  std::int64_t cleaned = 0;    ///< values that are not valid JSON and were replaced
  std::string damage;          ///< reason why the rest could not be read; empty: the file is
                               ///< complete
};

/// Reads a file of PyTorch's profiler from begin to end, with only one event in memory at a time.
/// Calls `take` for each complete event that `is_read` accepts, and perhaps for others. Throws
/// inputError when the file cannot be opened. `cleaned`: values that are not valid JSON are
/// replaced (CleanedJson).
KinetoHead readKineto(const std::string& path, const EventFilter::IsRead& is_read,
                      const std::function<void(const KinetoEvent&)>& take, bool cleaned);

}  // namespace ringscope::traces
