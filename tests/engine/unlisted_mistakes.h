// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/mistakes/seams.h"
#include "engine/train/train_config.h"

namespace ringscope::engine::test {

/// A mistake that is in no catalogue, in the run in which it is made, and where that is. It was
/// thought of by somebody who had not read how the doctor looks for mistakes.
struct Unlisted {
  std::string name;
  void (*prepare)(TrainConfig& config);
  void (*make)(Seams& seams);
  WorldRank rank;  ///< none: of all ranks, or of a sum of theirs
  traces::Layer layer;
  traces::Direction direction = traces::Direction::kForward;
  traces::RingStep ring_step{};  ///< none: not in one ring step
  std::string says{};            ///< of the evidence or the buffer
};

/// Of one block, or of one merge, in forward.
const std::vector<Unlisted>& unlistedOfForward();
/// Of one block, or of one hop, in backward.
const std::vector<Unlisted>& unlistedOfBackward();
/// Of what lies around attention.
const std::vector<Unlisted>& unlistedAroundAttention();

/// Where a seam is reached: this rank, layer, direction, and ring step; `source`: whose block.
inline bool isAt(const SeamPlace& at, int rank, int layer, traces::Direction direction, int step) {
  return at.worldRank().value() == rank && at.place.layer.value() == layer &&
         at.place.direction == direction && (step < 0 || at.place.stage.value() == step);
}

}  // namespace ringscope::engine::test
