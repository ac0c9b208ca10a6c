// SPDX-License-Identifier: Apache-2.0
// Helpers that the comparisons of the own-device axis share.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/facts/facts_case.h"
#include "tests/facts/plain_replay.h"
#include "viz/views/timeline/own_clock_scene.h"

namespace ringscope::facts {

/// One training step on devices of its ranks' own, as the model has it and as it is meant.
struct OwnStep {
  const traces::Trace& trace;
  const viz::OwnClock& clock;
  const PlainReplay& meant;

  const traces::Program& program() const { return clock.recorded->program; }
};

/// Neither a pause nor verification, which are no part of the model.
bool isModelled(const traces::Event& event);
bool isUnderWay(const traces::Event& event);

/// Messages, waits and collectives, on any link.
void expectMovement(const OwnStep& step);
/// Uses, sums, sentence, sections and caveat.
void expectOwnAccount(const OwnStep& step, const std::vector<int>& ranks);
/// Words of a link, of what does not overlap, of how quick devices are, and of their floors.
void expectHardware(const std::string& says, const traces::Hardware& hardware);
/// Checks the critical path of the step and the sentence about it.
void expectCriticalPath(const OwnStep& step);
/// Which captures have no model, and that this is why. Says whether this one has.
bool expectWhyNoModel(const traces::Trace& trace, int train_step);
/// The same of the case's recording with something of it lost.
void expectSpoiled(const Case& c, std::mt19937& random);

}  // namespace ringscope::facts
