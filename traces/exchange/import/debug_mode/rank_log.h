// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// One rank's log: its calls and stages at the numbers of their entries.
struct RankLog {
  std::string path;
  std::vector<Call> calls;    ///< a call's group is an index into group_names
  std::vector<Event> stages;  ///< attention, embedding, loss and optimizer, without nested ones
  std::vector<std::string> group_names;
  std::map<std::string, std::int32_t> group_sizes;  ///< sizes that calls state, by group
  std::int32_t unnamed_size = 0;  ///< number of ranks of calls that name no group: 0 when no such
                                  ///< call states it, −1 when calls state different ones
  bool marks_steps = false;
  std::int64_t left_out = 0;
  std::string damage;
};

/// Nanoseconds from one entry of a log to the next. A log has no times.
inline constexpr std::int64_t kEntryNs = 1000;

/// Reads a log. Throws inputError when the file cannot be read.
RankLog readRankLog(const std::string& path);

}  // namespace ringscope::traces
