// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/doctor/remedy.h"

namespace ringscope::traces {

/// Returns the remedies that a rule needs beside values, in the order in which a job adds them,
/// whatever the recording has.
std::vector<Remedy> neededRemedies(const std::string& rule);

}  // namespace ringscope::traces
