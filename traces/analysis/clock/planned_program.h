// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/clock/planned_sizes.h"
#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

/// Plans one training step of `run` with a model of these sizes, for every mask, strategy,
/// rotation, order and balance that run_rules.h allows. The program has the ranks of one cp group;
/// ranks of other dp and tp indices do the same at the same time and count in collectives. Throws
/// usageError for a run that is refused, and for documents, which only a recording knows.
Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device);

struct PlannedStage {
  Stage stage;
  StageWork work;
};

/// A planned training step, whatever the device.
struct PlannedWork {
  Program schedule;                               ///< work takes no time in this schedule
  std::vector<std::vector<PlannedStage>> stages;  ///< by rank, in its order
};

/// Plans a step with the kernels that the engine has for the device of `run`. Throws what
/// plannedProgram() throws.
PlannedWork plannedWork(const RunSpec& run, const ModelSizes& sizes);

}  // namespace ringscope::traces
