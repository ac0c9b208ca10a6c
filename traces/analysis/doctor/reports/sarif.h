// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/reports/baseline.h"

namespace ringscope::traces {

/// A diagnosis as code review reads it: SARIF 2.1.0 (OASIS Standard), one run, a result a finding.
/// The rules that could not tell, and what of the recording could not be read, are notifications of
/// its invocation. `trace`: the path as it was given. `baseline`: null: none was given.
nlohmann::json toSarif(const Diagnosis& diagnosis, const std::string& trace,
                       const std::string& version, const Baseline* baseline);

}  // namespace ringscope::traces
