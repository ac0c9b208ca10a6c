// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The rule of a finding that ranks waited for each other; it is in no catalogue.
inline constexpr const char* kHang = "hang";

/// A finding of the recorded hang; nothing where no rank waited. It is an error when no rank could
/// have gone on, else a warning.
std::optional<Finding> hangFinding(const Trace& trace);

}  // namespace ringscope::traces
