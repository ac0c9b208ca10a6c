// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/doctor/remedy.h"
#include "traces/analysis/doctor/verdict.h"
#include "traces/analysis/mistakes/catalogue/detection.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The part of a mistake's explanation about the framework of the recorded run.
struct Fix {
  std::string framework;           ///< "PyTorch"; empty: the explanation has no such part
  std::string text;                ///< Markdown, most of it with a few lines of code
  std::vector<std::string> links;  ///< addresses of the reports
};

/// A mistake that was found: its place, the evidence, and what to change.
struct Finding {
  std::string rule{};  ///< an id of the catalogue; set by Rule::check()
  Severity severity = Severity::kError;
  Confidence confidence = Confidence::kCertain;
  std::string title{};
  Place place{};
  WorldRank rank{};                ///< none: no rank in particular
  std::vector<WorldRank> group{};  ///< who share the sequence of `rank`; added by diagnose()
  std::string buffer{};
  std::string evidence{};  ///< in numbers
  std::string remedy{};    ///< what to change, in a sentence
  Fix fix{};               ///< added by diagnose(); empty of what is in no catalogue
};

/// A rule's answer. `would_settle` begins with "needs" and says what the recording lacks. When
/// another capture would keep it, diagnose() adds the capture that the catalogue names. A rule that
/// knows a remedy beside those of remedy.cpp states it.
struct RuleResult {
  Verdict verdict = Verdict::kClear;
  std::vector<Finding> findings;
  std::string would_settle;
  bool capture_helps = true;
  std::vector<Remedy> remedies{};  ///< that would settle it, in the order in which to add them
};

/// Reports whether the recording lacks the groups that say which of its ranks share a sequence.
bool lacksGroups(const Trace& trace);
/// Reports whether the run is known to have one cp rank, on which most mistakes cannot be made.
bool hasOneCpRank(const Trace& trace);

RuleResult clear();
RuleResult found(Finding finding);
RuleResult notObservable(std::string would_settle);
/// Returns the same for a run that no other capture would settle either.
RuleResult undecided(std::string would_settle);
/// Returns the same for a run that the remedy would settle.
RuleResult undecided(std::string would_settle, Remedy remedy);
/// Returns the answer of a rule about cp ranks if their number settles it. The rule is clear with
/// one cp rank, and not observable when the ranks of a sequence are unknown.
std::optional<RuleResult> answerWithoutCp(const Trace& trace);
/// Returns the same for a rule that judges each microbatch by its own groups.
std::optional<RuleResult> answerWithoutAnyCp(const Trace& trace);
/// Returns the same for a rule about a mistake that only jobs of other programs make, which is not
/// observable in runs of RingScope.
std::optional<RuleResult> answerWithoutJob(const Trace& trace);

/// One rule: a pure function of what was recorded. It never learns what was injected.
struct Rule {
  std::string id;  ///< an id of the catalogue
  RuleFunction judge;
  RuleOf of = RuleOf::kAnyRun;

  /// Returns the answer, whose findings name this rule.
  RuleResult check(const Readings& readings) const;
};

/// Returns all rules. A new one is a function in the file of its subject in rules/, and a row in
/// traces/analysis/mistakes/catalogue/detection.cpp.
const std::vector<Rule>& rules();

}  // namespace ringscope::traces
