// SPDX-License-Identifier: Apache-2.0
// Derives from the plan the answer of each rule and the numbers in its sentences.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/doctor/rule.h"

namespace ringscope::facts {

/// Returns the verdict that a rule must give about the recording, or nothing when the plan does not
/// tell.
std::optional<traces::Verdict> rightVerdict(const Case& c, const std::string& rule);

/// Returns the same for a run with a mistake for which only the doctor is checked.
std::optional<traces::Verdict> injectedVerdict(const Case& c, const std::string& rule);

/// Some pair of the mask is left out by the recorded pieces of the first layer's forward.
bool cutsPairs(const Case& c);

/// All blocks come at once, and no hashes of them are recorded.
bool isGathered(const Case& c);

/// Compares the names and numbers of a finding with the plan's.
void expectEvidence(const Case& c, const traces::Finding& finding);
/// Checks the finding's proof, if it has one: the sentence about its layer, or about a number of
/// its step, computed again.
void expectProof(const Case& c, const traces::Finding& finding);
/// Returns the evidence without the proof.
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

/// Returns the labels of a rank's tokens as the case's mistake changed them, by row of the batch
/// and local token.
std::vector<std::vector<int>> usedLabels(const Case& c, int step, int group, int rank);
/// How many of them are not ignored.
std::int64_t countTargets(const Case& c, int step, int group, int rank);

}  // namespace ringscope::facts
