// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// Checks `ringscope predict --model` for a random run on random hardware. Its sentences must agree
/// with its figures, and its figures with the plan.
void expectPlannedPrediction(std::mt19937& random);
/// Checks the shares of hops that a ring hides, over sequence lengths.
void expectSweep(std::mt19937& random);
/// Checks `ringscope predict TRACE` for a recording.
void expectRecordedPrediction(const Case& c, std::mt19937& random);

}  // namespace ringscope::facts
