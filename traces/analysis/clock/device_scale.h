// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/recorded_program.h"

namespace ringscope::traces {

/// How many times quicker than recorded a device would be: a Hardware::compute_scale.
struct DeviceScale {
  double times = 0;  ///< 0: `why` says why it is not known
  std::string why;
};

/// The time that was recorded for attention, all ranks together, ÷ the time that its floating-point
/// operations take on the device, counted as PlannedSizes counts them, at `efficiency` of its peak
/// in the type of the run. Other stages are taken to be as many times quicker. `run` may be null.
DeviceScale deviceScale(const RecordedProgram& recorded, const RunSpec* run,
                        const DeviceRates& device, double efficiency);

}  // namespace ringscope::traces
