// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Ranks of a job that waited for each other or for a rank that did not come, when the job's
/// recording ended.
struct Hang {
  bool by_listener = false;     ///< a listener concluded it live; else it follows from rank files
  bool certain = false;         ///< no rank could have gone on
  bool different = false;       ///< ranks wait in different collectives or messages
  WorldRank rank;               ///< the first rank that is missing or does not fit
  std::int32_t train_step = 0;  ///< of that rank
  std::int64_t waited_ns = 0;   ///< how long the first rank had waited
  std::int64_t unix_ns = 0;     ///< when the listener concluded it; 0: not known
  std::vector<std::string> lines;  ///< sentences; details of one begin with two spaces
};

nlohmann::json toJson(const Hang& hang);
/// Reads a hang from untrusted JSON; nothing where it has no sentence.
std::optional<Hang> hangFrom(const nlohmann::json& json);

/// The note of an imported job that lists its hangs.
inline constexpr const char* kHangNote = "hang";
std::string hangNote(const std::vector<Hang>& hangs);
/// The hangs that the recording tells of: what follows from rank files before what a listener said.
std::vector<Hang> hangsOf(const Trace& trace);

/// The sentences of a hang as one text; begins with who concluded it and when, if that was live.
std::string describe(const Hang& hang);

}  // namespace ringscope::traces
