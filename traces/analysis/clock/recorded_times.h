// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "traces/analysis/clock/recorded_program.h"
#include "traces/analysis/clock/stage_cost.h"

namespace ringscope::traces {

/// What all-reduces do, as steps of latency and bytes on the link, by the two ways between which
/// allReduceNs() chooses (link_time.h).
struct AllReduces {
  StageSample ring, tree;
  double seconds = 0;
};

/// What one rank took in the recorded training steps of a program, in seconds.
struct RecordedTimes {
  using Stage = std::pair<EventKind, Direction>;
  /// The work of stages, with the collectives that they hold but those of gradients and
  /// activations.
  std::map<Stage, double> stages;
  double between = 0;      ///< from one stage to the next, with collectives there
  double sync = 0;         ///< collectives of gradients
  AllReduces activations;  ///< of tensor parallelism
  StageSample hops;        ///< waits for messages, from when all had posted them

  double of(const Stage& stage) const {
    const auto at = stages.find(stage);
    return at == stages.end() ? 0 : at->second;
  }
};

/// A collective takes as long as it did for the member that came last.
RecordedTimes recordedTimes(const RecordedProgram& recorded, std::size_t rank);

}  // namespace ringscope::traces
