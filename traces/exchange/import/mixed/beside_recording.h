// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/exchange/import/profile/job.h"
#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {

/// Adds what files of other tools say of a recorded job. These are the calls of ranks that have no
/// lines of the recorder, and where ranks stood at the end of a recording that was cut. Aligns the
/// clocks of these ranks with that of the recording where calls of both match. Says which files add
/// nothing, and which clocks are not aligned.
void addBesideRecording(RecordedJob& job, ProfiledJob other);

}  // namespace ringscope::traces
