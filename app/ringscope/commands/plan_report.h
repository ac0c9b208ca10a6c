// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/ringscope/commands/document_lengths.h"
#include "traces/analysis/clock/balance_comparison.h"
#include "traces/analysis/clock/report.h"

namespace ringscope::app {

/// The answer of `ringscope plan`.
struct PlanAnswer {
  traces::RunSpec run;
  traces::ModelSizes sizes;
  traces::ModelAssumptions assumptions;
  DocumentLengths sequences;
  std::vector<traces::ComparedBalance> balances;  ///< the quickest first

  /// Returns the sentences that the figures rest on.
  std::vector<std::string> assumed() const;
};
nlohmann::json toJson(const PlanAnswer& answer);
std::string toText(const PlanAnswer& answer);

}  // namespace ringscope::app
