// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Finds the ring step at which an attention that is wrong by itself went wrong. Computes the
/// layer's ring steps again one by one, and sets rank and ring step of the finding to the first
/// wrong one. Returns sentences that name its source, piece and rows and what is right before it,
/// or why that cannot be told. Returns an empty text when `wrong` is not a comparison of one
/// attention.
std::string placeInAttention(const Trace& trace, const DiffRecord& wrong, Finding& finding);

}  // namespace ringscope::traces
