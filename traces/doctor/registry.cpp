// SPDX-License-Identifier: Apache-2.0
#include "traces/doctor/rule.h"

namespace ringscope::traces {

RuleResult checkMissingPositionIds(const Trace& trace);
RuleResult checkNaiveSumMerge(const Trace& trace);
RuleResult checkMissingCpGradReduce(const Trace& trace);
RuleResult checkDroppedHop(const Trace& trace);
RuleResult checkNanFromOneRank(const Trace& trace);

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"missing_position_ids", checkMissingPositionIds},    {"naive_sum_merge", checkNaiveSumMerge},
      {"missing_cp_grad_reduce", checkMissingCpGradReduce}, {"dropped_hop", checkDroppedHop},
      {"nan_from_one_rank", checkNanFromOneRank},
  };
  return kRules;
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFound:
      return "found";
    case Verdict::kClear:
      return "clear";
    case Verdict::kNotObservable:
      return "not observable";
  }
  return "";
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

}  // namespace ringscope::traces
