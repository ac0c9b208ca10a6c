// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of keys that all ranks of a group have, such as those of a prompt, and that
/// attention counts once per rank. The recorded output must agree with attention of all ranks'
/// keys, and must not agree when the common keys count once.
std::optional<Finding> keysCountedOnEveryRank(const Trace& trace);

}  // namespace ringscope::traces
