// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/checks.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

json namesOf(const std::vector<Remedy>& remedies) {
  json names = json::array();
  for (const Remedy remedy : remedies) names.push_back(name(remedy));
  return names;
}

json toJson(const Diagnosis::Entry& entry) {
  return {{"rule", entry.rule},
          {"verdict", name(entry.result.verdict)},
          {"would_settle", entry.result.would_settle},
          {"applies", entry.applies()},
          {"does_not_apply", entry.does_not_apply},
          {"remedies", namesOf(entry.applies() ? entry.result.remedies : std::vector<Remedy>())}};
}

json toJson(const Advice& advice) {
  json alone = json::array(), with_others = json::array();
  for (const Diagnosis::Entry* entry : advice.checks)
    (entry->result.remedies.size() == 1 ? alone : with_others).push_back(entry->rule);
  const auto& [line, where] = remedyWords(*advice.remedy);
  return {{"remedy", name(*advice.remedy)},
          {"line", line},
          {"where", where},
          {"gains", advice.alone},
          {"alone", std::move(alone)},
          {"with_others", std::move(with_others)}};
}

}  // namespace

json toJson(const Diagnosis& diagnosis) {
  json report = {
      {"findings", json::array()}, {"rules", json::array()}, {"remedies", json::array()}};
  for (const Finding& finding : diagnosis.findings()) report["findings"].push_back(toJson(finding));
  for (const auto& entry : diagnosis.entries) report["rules"].push_back(toJson(entry));
  for (const Advice& advice : adviceFrom(diagnosis))
    if (advice.remedy) report["remedies"].push_back(toJson(advice));
  const Checks checks = countChecks(diagnosis);
  report["headline"] = headline(diagnosis);
  report["checks"] = {
      {"made", checks.made}, {"not_made", checks.not_made}, {"not_applying", checks.not_applying}};
  report["unread"] = diagnosis.unread;
  report["unrecorded"] = diagnosis.unrecorded;
  report["failure"] = diagnosis.failure;
  report["reach"] = diagnosis.reach;
  return report;
}

}  // namespace ringscope::traces
