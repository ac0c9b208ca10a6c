// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "traces/clock/recorded_program.h"
#include "traces/clock/stage_cost.h"

namespace ringscope::traces {

/// What one rank took in the recorded training steps of a program, in seconds.
struct RecordedTimes {
  using Stage = std::pair<EventKind, Direction>;
  /// The work of stages, with the collectives that they hold but those of gradients and
  /// activations.
  std::map<Stage, double> stages;
  double between = 0;       ///< from one stage to the next, with collectives there
  double sync = 0;          ///< collectives of gradients
  StageSample activations;  ///< all-reduces of tensor parallelism: steps and bytes of a ring
  StageSample hops;         ///< waits for messages, from when all had posted them

  double of(const Stage& stage) const {
    const auto at = stages.find(stage);
    return at == stages.end() ? 0 : at->second;
  }
};

/// A collective takes as long as it did for the member that came last.
RecordedTimes recordedTimes(const RecordedProgram& recorded, std::size_t rank);

}  // namespace ringscope::traces
