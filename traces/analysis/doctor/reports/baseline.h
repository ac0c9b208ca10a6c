// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {

/// The findings that somebody knows and accepts: those of an earlier report.
class Baseline {
 public:
  Baseline() = default;  ///< accepts nothing
  /// Reads the output of `ringscope doctor --json`. Throws inputError that begins with `source`.
  Baseline(const nlohmann::json& report, const std::string& source);

  bool accepts(const Finding& finding) const { return known_.contains(identityFor(finding)); }
  /// Identities of those that are no longer found.
  std::vector<std::string> gone(const Diagnosis& diagnosis) const;

  /// Returns the identity of a finding across runs: rule, rank, layer, direction, ring step and
  /// buffer, without the first training step and the numbers of its evidence.
  static std::string identityFor(const Finding& finding);

 private:
  std::set<std::string> known_;
};

}  // namespace ringscope::traces
