// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/clock_note.h"

namespace ringscope::traces {

/// The method by which the times of joined files were aligned.
enum class ClockAlignment {
  kSteadyClock,  ///< exact: all files were recorded on one machine since it was started
  kWallClock     ///< as accurate as the machines' clocks agree
};

/// Joins the files of one run's rank processes into one trace. Leaves out sealed mistakes, because
/// they cannot be read from here. Throws inputError when a file is no trace or does not say when it
/// began, when the files are of different runs, or when two files have the same rank.
ClockAlignment joinFiles(const std::vector<std::string>& inputs, const std::string& output);

/// Returns the JSON of kClockNote for a recorder whose run clock began at this steadyNow().
std::string describeClock(std::int64_t start_ns);

}  // namespace ringscope::traces
