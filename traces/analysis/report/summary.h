// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns the facts about a recording that `ringscope info --json` prints. `path` is the file.
nlohmann::json summarize(const Trace& trace, const std::string& path);

/// Returns the same facts as lines for readers: the run, the counts, and notes about damage.
std::vector<std::string> summaryLines(const Trace& trace, const nlohmann::json& summary);

}  // namespace ringscope::traces
