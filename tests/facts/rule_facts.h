// SPDX-License-Identifier: Apache-2.0
// What the plan says of each rule's answer and of the numbers in its sentences.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/doctor/rule.h"

namespace ringscope::facts {

/// What a rule must say of the recording; nothing where the plan does not tell.
std::optional<traces::Verdict> rightVerdict(const Case& c, const std::string& rule);

/// The same of a run with a mistake that only the doctor is asked about.
std::optional<traces::Verdict> injectedVerdict(const Case& c, const std::string& rule);

/// Some pair of the mask is left out by the recorded pieces of the first layer's forward.
bool cutsPairs(const Case& c);

/// All blocks come at once, and no hashes of them are recorded.
bool isGathered(const Case& c);

/// Compares the names and numbers of a finding with the plan's.
void expectEvidence(const Case& c, const traces::Finding& finding);
/// What it says of its layer, or of a number of its step, computed again, if it does.
void expectProof(const Case& c, const traces::Finding& finding);
/// The same evidence without that.
std::string withoutProof(const std::string& evidence);

/// Compares what a rule's sentences say with the plan, by rule; a table a subject.
using Sentences = std::map<std::string, void (*)(const Case& c, const traces::Finding& finding)>;
const Sentences& tokenSentences();
const Sentences& layoutSentences();
const Sentences& pairSentences();
const Sentences& blockSentences();
const Sentences& attentionSentences();
const Sentences& computedSentences();
const Sentences& gradientSentences();
/// Some table has it.
bool isSentenceKnown(const std::string& rule);

/// Of a training step and group: the labels of a rank's tokens as the mistake of the case made
/// them, by row of the batch and local token.
std::vector<std::vector<int>> usedLabels(const Case& c, int step, int group, int rank);
/// How many of them are not ignored.
std::int64_t targetsOf(const Case& c, int step, int group, int rank);

}  // namespace ringscope::facts
