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

/// Where the recording first leaves unsharded attention: in the earliest training step that
/// diverges, the first tensor that is wrong by itself, or else the first that is wrong end to end,
/// by its verdicts; of an attention whose values were recorded also the first wrong ring step. Says
/// which rows are wrong, what is right before and what to look at. Where no comparison diverges or
/// none was recorded, a number that does not follow from what was (unknown_number.h), or nothing.
std::optional<Finding> unknownMistake(const Trace& trace);

}  // namespace ringscope::traces
