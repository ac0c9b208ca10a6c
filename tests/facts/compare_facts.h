// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// What the comparison of two recordings says, looked at in a training step; `other` may be `run`
/// itself, of which nothing differs.
void expectCompared(const Case& run, const Case& other, int step);

}  // namespace ringscope::facts
