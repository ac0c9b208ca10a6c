// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds the first tensor that all ranks of a mesh axis hold alike by its asserted type (R or I of
/// spmd_types), and whose contents differ between two of them. Floating-point contents make it
/// likely only: ranks may round differently. Finds nothing where a rank asserted the tensor another
/// number of times, or gave it another shape.
std::optional<Finding> contradictedType(const Trace& trace);

}  // namespace ringscope::traces
