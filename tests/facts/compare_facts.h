// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// Checks what the comparison of two recordings says about a training step. `other` may be `run`
/// itself; then nothing differs.
void expectCompared(const Case& run, const Case& other, int step);

}  // namespace ringscope::facts
