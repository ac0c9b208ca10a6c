// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The rule of a finding that is in no catalogue.
inline constexpr const char* kUnknownMistake = "unknown_mistake";

/// The first recorded comparison that diverges: of the earliest training step, of what is wrong by
/// itself before what only arrives wrong; null: none does.
const DiffRecord* firstDivergence(const Trace& trace);

/// Finds the first place at which the recording differs from unsharded attention. In the earliest
/// training step that diverges it is the first tensor that is wrong by itself, or else the first
/// that is wrong end to end, by its verdicts. If the values of that attention were recorded, the
/// finding names the first wrong ring step too. It lists the wrong rows, the right tensors before
/// them, and the parts to look at. Without a diverging comparison the finding is a number that does
/// not follow from the recording (unknown_number.h), if there is one.
std::optional<Finding> unknownMistake(const Readings& readings);

}  // namespace ringscope::traces
