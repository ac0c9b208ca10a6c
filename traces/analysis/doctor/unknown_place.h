// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Where in an attention that is wrong by itself it went wrong: computes the layer's ring steps
/// again one by one, sets rank and ring step of the finding to the first wrong one, and returns
/// sentences that name it, its source, piece and rows and say what is right before it; or why that
/// cannot be told. Empty where `wrong` is not of one attention.
std::string placeInAttention(const Trace& trace, const DiffRecord& wrong, Finding& finding);

}  // namespace ringscope::traces
