// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/reports/baseline.h"

namespace ringscope::traces {

/// Returns a diagnosis as JUnit's XML for continuous integration, with one test case per rule. A
/// finding is a failure. A rule that could not tell, or whose findings the baseline accepts, is
/// skipped with the reason. A failed run or an unreadable part of the recording adds one case with
/// an error. `trace`: the path as it was given.
std::string toJunit(const Diagnosis& diagnosis, const std::string& trace, const Baseline& baseline);

}  // namespace ringscope::traces
