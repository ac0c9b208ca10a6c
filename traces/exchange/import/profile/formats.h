// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/import/profile/job.h"

namespace ringscope::traces {

/// Read files of one format as a job. `alone` tells whether a single file is all that there is of
/// the job. Each throws inputError when a file cannot be read.
ProfiledJob readKineto(const std::vector<std::string>& paths, bool alone);
ProfiledJob readFlightRecorder(const std::vector<std::string>& paths, bool alone);
ProfiledJob readNcclInspector(const std::vector<std::string>& paths, bool alone);
ProfiledJob readNsight(const std::vector<std::string>& paths, bool alone);
ProfiledJob readDebugMode(const std::vector<std::string>& paths, bool alone);

}  // namespace ringscope::traces
