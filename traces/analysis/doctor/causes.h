// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {

/// Takes back what is found only because of a mistake that was found too and comes before it.
void keepCauses(std::vector<Diagnosis::Entry>& entries);

/// Takes back all errors that were found where the recording is wrong before any of these mistakes
/// could have changed it: something else is wrong, and may look like them further on.
void takeBackWhatIsTooLate(const Trace& trace, std::vector<Diagnosis::Entry>& entries);

}  // namespace ringscope::traces
