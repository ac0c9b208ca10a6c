// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The key of the note of an imported job that lists what was not recorded.
inline constexpr const char* kLacksNote = "lacks";
std::string lacksNote(const std::vector<std::string>& lacks);
/// Returns sentences, without the full stop, about facts that an imported job did not record. A
/// recording with such sentences is not damaged.
std::vector<std::string> findLacks(const Trace& trace);

/// Returns all sentences that a user should know about a recording: its problems, then its lacks.
std::vector<std::string> listRemarks(const Trace& trace);

}  // namespace ringscope::traces
