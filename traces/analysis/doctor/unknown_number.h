// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds a wrong number of a training step that no mistake of the catalogue explains. Compares the
/// logged loss with the sums of the ranks, and the gradient of the output projection with logits
/// and labels. Only judges runs that declared a mean over all targets.
std::optional<Finding> unknownNumber(const Readings& readings);

}  // namespace ringscope::traces
