// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>

#include "tests/facts/plain_replay.h"
#include "tests/facts/scene_facts.h"
#include "viz/scene/own_clock.h"

namespace ringscope::facts {

/// A training step on the own-device axis of the timeline, on random hardware.
void expectOwnClock(const Case& c, const Look& look, std::mt19937& random);
/// What determines the end of the step.
void expectChain(const viz::OwnClock& clock, const PlainReplay& plain);

}  // namespace ringscope::facts
