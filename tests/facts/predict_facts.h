// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// What `ringscope predict --model` says of a random run on random hardware: its words are its
/// figures, and these are the plan's.
void expectPlannedPrediction(std::mt19937& random);
/// The shares of hops that it says a ring hides, over lengths.
void expectSweep(std::mt19937& random);
/// What `ringscope predict TRACE` says of a recording.
void expectRecordedPrediction(const Case& c, std::mt19937& random);

}  // namespace ringscope::facts
