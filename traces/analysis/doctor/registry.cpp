// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/trace/framework.h"

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

RuleResult Rule::check(const Readings& readings) const {
  RuleResult result =
      judge.by_readings ? judge.by_readings(readings) : judge.by_trace(readings.trace());
  for (Finding& finding : result.findings) finding.rule = id;
  return result;
}

bool lacksGroups(const Trace& trace) {
  const auto& run = trace.run();
  const bool only_others = std::ranges::all_of(
      trace.groups(), [](const GroupRecord& group) { return group.axis == GroupAxis::kOther; });
  return run && run->command == Command::kImport && only_others &&
         (run->dp > 1 || run->tp > 1 || run->cp > 1);
}

bool hasOneCpRank(const Trace& trace) {
  return trace.run() && trace.run()->cp == 1 && !lacksGroups(trace);
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
std::optional<RuleResult> answerWithoutAnyCp(const Trace& trace) {
  return trace.microbatchGroups().empty() ? answerWithoutCp(trace) : std::nullopt;
}
std::optional<RuleResult> answerWithoutCp(const Trace& trace) {
  if (hasOneCpRank(trace)) return clear();
  if (!lacksGroups(trace)) return std::nullopt;
  if (!trace.microbatchGroups().empty())
    return undecided(
        "needs ranks that share all sequences of a training step with the same ranks: here these "
        "change from microbatch to microbatch");
  return undecided(
      "needs to know which ranks share a sequence: ringscope.buffer(…, group=…) or "
      "ringscope.attention() names their group");
}
std::optional<RuleResult> answerWithoutJob(const Trace& trace) {
  if (!isForeign(trace)) return notObservable("needs a recorded job");
  return answerWithoutCp(trace);
}

}  // namespace ringscope::traces
