// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

// Attention over the blocks of all ranks whose recorded output shows how blocks were paired. Masks
// are not known.

/// Returns a finding of values that are some ring steps behind their keys.
std::optional<Finding> valuesBehindKeys(const Trace& trace);

/// Returns a finding of ranks that attend the same places in the blocks of all ranks, as a padding
/// mask of their own tokens leaves them.
std::optional<Finding> ownMaskOnAllBlocks(const Trace& trace);

/// Returns a finding of two parts of a sequence that attend all of each other, though each one
/// attends itself causally. Labels must be the next tokens of the sequence: parallel sequences may
/// be meant to attend each other.
std::optional<Finding> partsAttendEachOther(const Readings& readings);

}  // namespace ringscope::traces
