// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "traces/analysis/clock/planned_sizes.h"
#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

/// Plans one training step of `run` with a model of these sizes, for every mask, strategy,
/// rotation, order and balance that run_rules.h allows. The program has the ranks of one cp group;
/// ranks of other dp and tp indices do the same at the same time and count in collectives. Throws
/// usageError for a run that is refused, and for documents, which only a recording knows.
Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device);

/// The work of one rank in a training step, summed by kind of stage.
using RankWork = std::map<Stage, StageWork>;

/// Returns the planned work by rank, whatever the device. Throws what plannedProgram() throws.
std::vector<RankWork> plannedWork(const RunSpec& run, const ModelSizes& sizes);

}  // namespace ringscope::traces
