// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The ranks of a job that waited for each other, or for a rank that did not arrive, when the job's
/// recording ended.
struct Hang {
  bool by_listener = false;        ///< a listener concluded it during the job; otherwise it follows
                                   ///< from the rank files
  bool certain = false;            ///< no rank could have continued
  bool different = false;          ///< ranks wait in different collectives or messages
  WorldRank rank;                  ///< first rank that is missing or does not match
  std::int32_t train_step = 0;     ///< training step of that rank
  std::int64_t waited_ns = 0;      ///< time that the first rank had waited
  std::int64_t unix_ns = 0;        ///< time when the listener concluded it; 0: unknown
  std::vector<std::string> lines;  ///< sentences; details of a sentence begin with two spaces
};

nlohmann::json toJson(const Hang& hang);
/// Reads a hang from untrusted JSON. Returns nullopt when it contains no sentence.
std::optional<Hang> hangFrom(const nlohmann::json& json);

/// The key of the note of an imported job that lists its hangs.
inline constexpr const char* kHangNote = "hang";
std::string hangNote(const std::vector<Hang>& hangs);
/// Returns the recorded hangs: first those that follow from the rank files, then those that a
/// listener concluded.
std::vector<Hang> findHangs(const Trace& trace);

/// Returns the sentences of a hang as one text. A hang found by a listener begins with the time
/// when the listener concluded it.
std::string describe(const Hang& hang);

}  // namespace ringscope::traces
