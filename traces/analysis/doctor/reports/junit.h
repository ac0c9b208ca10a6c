// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/reports/baseline.h"

namespace ringscope::traces {

/// A diagnosis as continuous integration reads it: JUnit's XML, a test case a rule. Found: a
/// failure; not observable, or known to the baseline in all its findings: skipped, with the reason.
/// Where the run failed or a part of the recording could not be read, one more case says so as an
/// error. `trace`: the path as it was given.
std::string toJunit(const Diagnosis& diagnosis, const std::string& trace, const Baseline& baseline);

}  // namespace ringscope::traces
