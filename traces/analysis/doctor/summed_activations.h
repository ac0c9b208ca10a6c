// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding when the event is a sum of all activations of a layer over ranks of the cp
/// group, whose tokens differ.
std::optional<Finding> summedActivations(const Trace& trace, const Event& event,
                                         const GroupRecord& cp);

}  // namespace ringscope::traces
