// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    for (const Detection& detection : detections())
      all.push_back({detection.mistake, detection.rule, detection.of});
    return all;
  }();
  return kRules;
}

RuleResult Rule::check(const Trace& trace) const {
  RuleResult result = judge(trace);
  for (Finding& finding : result.findings) finding.rule = id;
  return result;
}

bool hasOneCpRank(const Trace& trace) {
  return trace.run() && trace.run()->cp == 1;
}

RuleResult clear() {
  return {};
}
RuleResult found(Finding finding) {
  return {Verdict::kFound, {std::move(finding)}, ""};
}
RuleResult notObservable(std::string would_settle) {
  return {Verdict::kNotObservable, {}, std::move(would_settle)};
}
RuleResult undecided(std::string would_settle) {
  return {Verdict::kNotObservable, {}, std::move(would_settle), false};
}
RuleResult undecided(std::string would_settle, Remedy remedy) {
  return {Verdict::kNotObservable, {}, std::move(would_settle), false, {remedy}};
}

}  // namespace ringscope::traces
