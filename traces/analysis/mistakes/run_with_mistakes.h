// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// Returns why a run with these mistakes cannot work, or which of them would change nothing, and
/// what would help. Returns nullopt if nothing is known against the run. The command line, the
/// control connection and the window's form say this sentence.
std::optional<std::string> refusal(const RunSpec& run, const std::vector<AskedMistake>& mistakes);

/// Why one mistake would change nothing of a run that can be carried out, as far as its settings
/// tell: "--mistake ID changes nothing on one rank; use a --cp above 1".
std::optional<std::string> reasonAgainst(const RunSpec& run, const AskedMistake& asked);

}  // namespace ringscope::traces
