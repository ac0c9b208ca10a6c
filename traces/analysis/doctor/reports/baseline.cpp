// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/reports/baseline.h"

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

constexpr const char* kIdentity[] = {"rule", "rank", "layer", "direction", "stage", "buffer"};

/// The rule, and what else it has of these: "…, rank 1, direction forward".
std::string identityFor(const nlohmann::json& finding) {
  std::string identity;
  for (const char* field : kIdentity) {
    const nlohmann::json& value = finding.at(field);
    if (value.is_null()) continue;
    const std::string words =
        value.is_string() ? value.get<std::string>() : std::to_string(value.get<int>());
    if (words.empty()) continue;
    if (!identity.empty()) identity.append(", ").append(field).append(" ");
    identity += words;
  }
  return identity;
}

}  // namespace

Baseline::Baseline(const nlohmann::json& report, const std::string& source) {
  try {
    for (const nlohmann::json& finding : report.at("findings"))
      known_.insert(traces::identityFor(finding));
  } catch (const nlohmann::json::exception&) {
    throw inputError(source +
                     " holds no findings; a baseline is what 'ringscope doctor --json' printed");
  }
}

std::vector<std::string> Baseline::gone(const Diagnosis& diagnosis) const {
  std::set<std::string> left = known_;
  for (const Finding& finding : diagnosis.findings()) left.erase(identityFor(finding));
  return {left.begin(), left.end()};
}

std::string Baseline::identityFor(const Finding& finding) {
  return traces::identityFor(toJson(finding));
}

}  // namespace ringscope::traces
