// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Computes the finding's layer, or the numbers of its training step, again. Returns a sentence
/// that the recording is what the mistake gives and not what was meant, in numbers. For an unknown
/// mistake in a layer the sentence says that no computed mistake gives it. Returns an empty text
/// when values are missing, or no hypothesis (verify/hypotheses, verify/step_hypotheses) computes
/// the mistake. Takes a bounded time.
std::string proofFor(const Trace& trace, const Finding& finding);

}  // namespace ringscope::traces
