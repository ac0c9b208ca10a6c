// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/step_result.h"

namespace ringscope::traces {

/// Fills the hypotheses of the numbers that are wrong: what each mistake that would change them by
/// more than rounding does gives instead. Throws inputError when values are damaged.
void tryMistakes(const Trace& trace, StepCheck& check);

}  // namespace ringscope::traces
