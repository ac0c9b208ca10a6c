// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// A number of a training step that is not what the recording gives, nor what any mistake of the
/// catalogue makes of it: the logged loss, against the ranks' own sums, or the gradient of the
/// output projection, against logits and labels. Of runs that declared a mean over all targets.
std::optional<Finding> unknownNumber(const Trace& trace);

}  // namespace ringscope::traces
