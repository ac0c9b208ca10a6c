// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/clock/hardware.h"
#include "traces/analysis/clock/recorded_program.h"

namespace ringscope::traces {

/// The speed of a device compared with a recording: a Hardware::compute_scale.
struct DeviceScale {
  double times = 0;  ///< 0: unknown, see `why`
  std::string why;
};

/// Divides the recorded time of attention on all ranks by its time on the device, which reaches
/// `efficiency` of its peak in the type of the run. PlannedSizes says how operations are counted.
/// All other stages are assumed to be faster by the same factor. `run` can be null.
DeviceScale deviceScale(const RecordedProgram& recorded, const RunSpec* run,
                        const DeviceRates& device, double efficiency);

}  // namespace ringscope::traces
