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
  /// Of what `ringscope doctor --json` printed. Throws inputError that begins with `source`.
  Baseline(const nlohmann::json& report, const std::string& source);

  bool accepts(const Finding& finding) const { return known_.contains(identityOf(finding)); }
  /// Identities of those that are no longer found.
  std::vector<std::string> gone(const Diagnosis& diagnosis) const;

  /// What makes two findings of different runs the same: rule, rank, layer, direction, ring step
  /// and buffer; not the training step in which it was seen first, nor the numbers of its evidence.
  static std::string identityOf(const Finding& finding);

 private:
  std::set<std::string> known_;
};

}  // namespace ringscope::traces
