// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/doctor/rule.h"

namespace ringscope::traces {

/// The rule of a finding that is in no catalogue.
inline constexpr const char* kUnknownMistake = "unknown_mistake";

/// Where the recording first leaves unsharded attention, from its verdicts alone: in the earliest
/// training step that diverges, the first tensor that is wrong by itself, or else the first that is
/// wrong end to end. Says what is right before it and what to look at. Nothing where no comparison
/// diverges or none was recorded.
std::optional<Finding> unknownMistake(const Trace& trace);

}  // namespace ringscope::traces
