// SPDX-License-Identifier: Apache-2.0
// What the plan says of each rule's answer and of the numbers in its sentences.
#pragma once

#include <optional>
#include <string>

#include "tests/facts/scene_facts.h"
#include "traces/doctor/rule.h"

namespace ringscope::facts {

/// What a rule must say of the recording; nothing where the plan does not tell.
std::optional<traces::Verdict> rightVerdict(const Case& c, const std::string& rule);

/// All blocks come at once, and no hashes of them are recorded.
bool isGathered(const Case& c);

/// Compares the names and numbers of a finding with the plan's.
void expectEvidence(const Case& c, const traces::Finding& finding);
/// What it says of its layer, or of a number of its step, computed again, if it does.
void expectProof(const Case& c, const traces::Finding& finding);
/// The same evidence without that.
std::string withoutProof(const std::string& evidence);
/// The part of it that is about what was computed.
void expectComputed(const Case& c, const traces::Finding& finding);

/// Of a training step and group: the labels of a rank's tokens as the mistake of the case made
/// them, by row of the batch and local token.
std::vector<std::vector<int>> usedLabels(const Case& c, int step, int group, int rank);
/// How many of them are not ignored.
std::int64_t targetsOf(const Case& c, int step, int group, int rank);

}  // namespace ringscope::facts
