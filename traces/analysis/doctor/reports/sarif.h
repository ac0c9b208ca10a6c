// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/reports/baseline.h"

namespace ringscope::traces {

/// Returns a diagnosis in SARIF 2.1.0 (OASIS Standard), which code review tools read: one run with
/// one result per finding. Rules that could not tell, and unread parts of the recording, are
/// notifications of the run. The argument `trace` is the path as the user gave it. The argument
/// `baseline` is null when the user gave none.
nlohmann::json toSarif(const Diagnosis& diagnosis, const std::string& trace,
                       const std::string& version, const Baseline* baseline);

}  // namespace ringscope::traces
