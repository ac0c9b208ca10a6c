// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// What computing the finding's layer, or the numbers of its training step, again says of it, as a
/// sentence: that the recording is what the mistake gives and not what was meant, in numbers; of an
/// unknown mistake in a layer, that none which was tried gives it. Empty where it says nothing:
/// values are missing, or no hypothesis (verify/hypotheses, verify/step_hypotheses) is of this
/// mistake. Takes a bounded time.
std::string proofOf(const Trace& trace, const Finding& finding);

}  // namespace ringscope::traces
