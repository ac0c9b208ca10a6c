// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {

/// Takes back findings that another found mistake, which comes before them, explains.
void keepCauses(std::vector<Diagnosis::Entry>& entries);

/// Takes back all errors when the recording is wrong before any of these mistakes could have
/// changed it. Something else is then wrong, and may look like them later.
void takeBackWhatIsTooLate(const Trace& trace, std::vector<Diagnosis::Entry>& entries);

}  // namespace ringscope::traces
