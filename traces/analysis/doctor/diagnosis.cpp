// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/diagnosis.h"

#include <algorithm>
#include <cctype>
#include <new>

#include "traces/analysis/doctor/applicability.h"
#include "traces/analysis/doctor/causes.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/doctor/contradicted_types.h"
#include "traces/analysis/doctor/hang_finding.h"
#include "traces/analysis/doctor/proof.h"
#include "traces/analysis/doctor/reach.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/recomputed_finding.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/doctor/unknown_structure.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/explanation.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/recorder_request.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

const char* explain(Confidence confidence) {
  return confidence == Confidence::kCertain ? "nothing else explains what was recorded"
                                            : "something else may explain what was recorded";
}

nlohmann::json toJson(const Finding& finding) {
  const Mistake* mistake = findMistake(finding.rule);
  nlohmann::json group = nlohmann::json::array();
  for (const WorldRank rank : finding.group) group.push_back(traces::toJson(rank));
  return {{"rule", finding.rule},
          {"severity", name(finding.severity)},
          {"confidence", name(finding.confidence)},
          {"confidence_means", explain(finding.confidence)},
          {"title", finding.title},
          {"rank", traces::toJson(finding.rank)},
          {"group", std::move(group)},
          {"train_step", finding.place.train_step},
          {"layer", traces::toJson(finding.place.layer)},
          {"direction", name(finding.place.direction)},
          {"stage", traces::toJson(finding.place.stage)},
          {"buffer", finding.buffer},
          {"evidence", finding.evidence},
          {"remedy", finding.remedy},
          {"fix", {{"framework", finding.fix.framework}, {"text", finding.fix.text}}},
          {"reported_in", mistake ? mistake->reported_in : ""},
          {"links", finding.fix.links}};
}

namespace {

/// One attention records too little for the rule, however it is captured.
bool needsTraining(const Rule& rule, const RunSpec* run) {
  return rule.of == RuleOf::kTraining && run && run->command == Command::kAttend;
}

/// A mask that was taken from how attention was called is what happened, and not what was meant.
bool lacksDeclaredMask(const Rule& rule, const Trace& trace) {
  const RunSpec* run = trace.run();
  if (rule.of != RuleOf::kDeclaredMask || !run || run->command != Command::kImport) return false;
  const nlohmann::json& declared = trace.note(kDeclaredNote);
  return !declared.is_object() || !declared.contains("mask");
}

/// Adds to what is missing the capture that would have kept it; every capture keeps events.
void addCapture(RuleResult& result, const Rule& rule, const Trace& trace) {
  const Mistake* mistake = findMistake(rule.id);
  if (!mistake) return;
  const std::string capture = name(mistake->capture);
  bool kept = mistake->capture == CaptureNeeded::kEvents && !importedFrom(trace);
  // A call of the recorder that would settle it is no matter of what is kept.
  kept = kept || result.would_settle.find("ringscope.") != std::string::npos;
  result.capture_helps = !kept && captureWouldHelp(trace, capture);
  if (result.capture_helps)
    result.would_settle += "; " + captureAdvice(trace, capture, "records them");
}

/// A part of the recording that one rule cannot read must not silence the others.
RuleResult answered(const Rule& rule, const Readings& readings) {
  const Trace& trace = readings.trace();
  try {
    RuleResult result = rule.check(readings);
    if (result.verdict == Verdict::kClear && lacksDeclaredMask(rule, trace))
      return undecided(
          "needs a declaration of the mask (declare={\"mask\": …}); it was taken from how "
          "attention "
          "was called",
          Remedy::kDeclaredMask);
    if (result.verdict == Verdict::kClear && importedFrom(trace))
      result = notObservable("needs what messages carry and which blocks are attended");
    if (result.verdict != Verdict::kNotObservable) return result;
    if (needsTraining(rule, trace.run()))
      return undecided(
          "needs a run that trains, whose tokens, q, k, labels and losses are recorded");
    return result;
  } catch (const std::bad_alloc&) {
    return undecided("needs more memory than there is");
  } catch (const std::exception& error) {
    return undecided(std::string("needs what cannot be read: ") + error.what());
  }
}

/// Asks one rule. Adds what would let it judge, and keeps what it lacks apart from that.
Diagnosis::Entry asked(const Rule& rule, const Readings& readings) {
  const Trace& trace = readings.trace();
  Diagnosis::Entry entry{rule.id, answered(rule, readings)};
  RuleResult& result = entry.result;
  if (result.verdict != Verdict::kNotObservable) return entry;
  entry.lacks = result.would_settle;
  std::erase_if(result.remedies, [&](Remedy remedy) { return !isMissing(trace, remedy); });
  if (!result.capture_helps) return entry;
  for (const Remedy remedy : missingRemedies(trace, rule.id)) result.remedies.push_back(remedy);
  addCapture(result, rule, trace);
  return entry;
}

/// Says of rules that found nothing whether their mistake can be made in this run at all.
void addApplicability(const Trace& trace, std::vector<Diagnosis::Entry>& entries) {
  for (Diagnosis::Entry& entry : entries) {
    if (entry.result.verdict == Verdict::kFound) continue;
    entry.does_not_apply = whyNotApplicable(trace, entry.rule);
    if (entry.lacks.empty()) entry.lacks = entry.result.would_settle;  // a finding taken back
  }
}

/// The first finding of each rule gets what computing its layer again says.
void addProofs(const Trace& trace, std::vector<Diagnosis::Entry>& entries) {
  for (Diagnosis::Entry& entry : entries) {
    if (entry.result.findings.empty()) continue;
    Finding& finding = entry.result.findings.front();
    if (const std::string proof = proofFor(trace, finding); !proof.empty())
      finding.evidence += (finding.evidence.ends_with('.') ? " " : ". ") + proof;
  }
}

/// Adds a finding to the entry of its rule, or in an entry of its own.
void addFound(std::vector<Diagnosis::Entry>& entries, Finding finding) {
  const auto own = std::ranges::find(entries, finding.rule, &Diagnosis::Entry::rule);
  const std::string rule = finding.rule;
  if (own == entries.end())
    entries.push_back({rule, found(std::move(finding))});
  else
    own->result = found(std::move(finding));
}

/// Makes findings likely that rest on attention which was recognised and not annotated: the tokens
/// of ranks and the mask are then inferred.
void lowerConfidence(const Trace& trace, std::vector<Diagnosis::Entry>& entries) {
  if (!hasRecognisedAttention(trace)) return;
  for (Diagnosis::Entry& entry : entries)
    for (Finding& finding : entry.result.findings) finding.confidence = Confidence::kLikely;
}

void addGroups(const Trace& trace, std::vector<Diagnosis::Entry>& entries) {
  for (Diagnosis::Entry& entry : entries)
    for (Finding& finding : entry.result.findings)
      for (const auto& members : sequenceGroups(trace))
        if (std::ranges::find(members, finding.rank) != members.end()) finding.group = members;
}

void addFixes(Diagnosis& diagnosis) {
  for (Diagnosis::Entry& entry : diagnosis.entries)
    for (Finding& finding : entry.result.findings)
      finding.fix = fixFor(finding.rule, diagnosis.framework);
}

}  // namespace

Fix fixFor(const std::string& rule, std::optional<Framework> framework) {
  Fix fix;
  if (!findMistake(rule)) return fix;
  const Explanation explanation = readExplanation(rule);
  for (const Explanation::Link& link : explanation.links) fix.links.push_back(link.address);
  if (const auto* remedy = framework ? explanation.remedyFor(*framework) : nullptr) {
    fix.framework = remedy->framework;
    fix.text = remedy->text;
  }
  return fix;
}

int Diagnosis::count(Verdict verdict) const {
  return static_cast<int>(std::count_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.result.verdict == verdict;
  }));
}

std::vector<Finding> Diagnosis::findings() const {
  std::vector<Finding> all;
  for (const auto& entry : entries)
    all.insert(all.end(), entry.result.findings.begin(), entry.result.findings.end());
  return all;
}

Diagnosis diagnose(const Trace& trace) {
  Diagnosis diagnosis;
  const Readings readings(trace);
  for (const Rule& rule : rules()) diagnosis.entries.push_back(asked(rule, readings));
  keepCauses(diagnosis.entries);
  takeBackWhatIsTooLate(trace, diagnosis.entries);
  takeBackWhatIsRight(readings, diagnosis.entries);
  addApplicability(trace, diagnosis.entries);
  const std::vector<Finding> findings = diagnosis.findings();
  if (std::ranges::none_of(findings,
                           [](const Finding& f) { return f.severity == Severity::kError; })) {
    auto finding = contradictedType(trace);
    if (!finding) finding = unknownMistake(readings);
    if (!finding) finding = recomputedFinding(readings);
    if (!finding) finding = unknownStructure(readings);
    if (finding) addFound(diagnosis.entries, *std::move(finding));
  }
  lowerConfidence(trace, diagnosis.entries);
  if (auto finding = hangFinding(trace))
    diagnosis.entries.push_back({finding->rule, found(*std::move(finding))});
  addProofs(trace, diagnosis.entries);
  addGroups(trace, diagnosis.entries);
  diagnosis.framework = findFramework(trace);
  addFixes(diagnosis);
  diagnosis.reach = describeReach(readings);
  diagnosis.unread = trace.problems();  // what the rules have decoded has added to them
  diagnosis.unrecorded = findLacks(trace);
  const Ending ending = findEnding(trace);
  if (ending.how == HowEnded::kFailed || (!ending.whole() && ending.hasWholeSteps())) {
    diagnosis.failure = describe(ending);
    std::erase(diagnosis.unread, diagnosis.failure);  // it is no part that could not be read
  }
  return diagnosis;
}

bool isWithoutFinding(const Diagnosis& diagnosis) {
  return diagnosis.problem.empty() && diagnosis.unread.empty() && diagnosis.failure.empty() &&
         diagnosis.count(Verdict::kFound) == 0 && countChecks(diagnosis).made > 0;
}

bool isClear(const Diagnosis& diagnosis) {
  return isWithoutFinding(diagnosis) && countChecks(diagnosis).not_made == 0;
}

namespace {

/// Returns the limits of a diagnosis, each of which continues a sentence after a semicolon or
/// colon.
std::vector<std::string> drawbacks(const Diagnosis& diagnosis) {
  std::vector<std::string> all;
  if (!diagnosis.failure.empty()) all.push_back(diagnosis.failure);
  if (diagnosis.unread.size() == 1) all.emplace_back("a part of the recording could not be read");
  if (diagnosis.unread.size() > 1) all.emplace_back("parts of the recording could not be read");
  return all;
}

}  // namespace

std::string headline(const Diagnosis& diagnosis) {
  std::string but;
  for (const std::string& drawback : drawbacks(diagnosis)) but += "; " + drawback;
  if (const int found = diagnosis.count(Verdict::kFound); found > 0)
    return (found == 1 ? "▲ One finding" : "▲ " + std::to_string(found) + " findings") + but;
  if (!but.empty()) return "– Nothing found in what could be read:" + but.substr(1);
  const Checks checks = countChecks(diagnosis);
  if (checks.made == 0) return "– Nothing could be looked for: what the rules need is not recorded";
  if (checks.not_made == 0) return "✓ Nothing found";
  return "– Nothing wrong in the " + describeCount(checks.made, "check") +
         " that this recording allows; " + std::to_string(checks.not_made) + " could not be made";
}

std::string headline(const Diagnosis::Entry& entry) {
  const Mistake* mistake = findMistake(entry.rule);
  std::string holds = mistake ? mistake->when_absent : entry.rule;
  if (entry.result.verdict == Verdict::kNotObservable) return "Cannot tell whether " + holds;
  holds[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(holds[0])));
  return holds;
}

}  // namespace ringscope::traces
