// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/clock_note.h"

namespace ringscope::traces {

/// How the times of joined files were brought together.
enum class ClockAlignment {
  kSteadyClock,  ///< exact: all were recorded on one machine since it was started
  kWallClock     ///< as well as the machines' clocks agree
};

/// Joins the files of one run's rank processes into one trace. What was sealed stays behind: it
/// cannot be read from here. Throws inputError when a file is no trace, when the files are of
/// different runs, when a rank is in two of them, or when one does not say when it began.
ClockAlignment joinFiles(const std::vector<std::string>& inputs, const std::string& output);

/// Describes the clock of a recorder that began at this steadyNow(), for its note kClockNote.
std::string describeClock(std::int64_t start_ns);

}  // namespace ringscope::traces
