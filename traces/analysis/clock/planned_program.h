// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "traces/analysis/clock/planned_sizes.h"
#include "traces/analysis/clock/program.h"
#include "traces/plan/attended_pairs.h"

namespace ringscope::traces {

/// Plans one training step of `run` with a model of these sizes, for every mask, strategy,
/// rotation, order and balance that run_rules.h allows. The program has the ranks of one cp group;
/// ranks of other dp and tp indices do the same at the same time and count in collectives. Throws
/// usageError for a run that is refused, and for documents, which only a recording knows.
Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device);

/// Plans one layer of such a step, forward and backward, whose ranks attend these pairs of each
/// sequence. `run.seq_len` is the length of a sequence with its padding. Throws usageError for a
/// run that is refused.
Program plannedLayer(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                     const PairTable& pairs);

/// The work of one rank in a training step, summed by kind of stage.
using RankWork = std::map<Stage, StageWork>;

/// Returns the planned work by rank, whatever the device. Throws what plannedProgram() throws.
std::vector<RankWork> plannedWork(const RunSpec& run, const ModelSizes& sizes);

}  // namespace ringscope::traces
