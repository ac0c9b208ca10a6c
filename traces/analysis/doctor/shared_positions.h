// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of position ids of several axes that are the same on ranks which have
/// different tokens of a sequence, some of them text. Attention must be causal and go on from the
/// tokens of one rank to those of the other, so that the positions of later tokens are later.
std::optional<Finding> equalPositionsOfAxes(const Readings& readings);

}  // namespace ringscope::traces
