// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds a number of a training step that neither the recording nor any mistake of the catalogue
/// gives: the logged loss, against the ranks' own sums, or the gradient of the output projection,
/// against logits and labels. Only judges runs that declared a mean over all targets.
std::optional<Finding> unknownNumber(const Trace& trace);

}  // namespace ringscope::traces
