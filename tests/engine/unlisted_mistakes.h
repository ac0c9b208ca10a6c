// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/mistakes/seams.h"
#include "engine/train/train_config.h"

namespace ringscope::engine::test {

/// A mistake that is in no catalogue, the run in which it is made, and its place. Its author had
/// not read how the doctor looks for mistakes.
struct Unlisted {
  std::string name;
  void (*prepare)(TrainConfig& config);
  void (*make)(Seams& seams);
  WorldRank rank;  ///< none: all ranks, or a sum over ranks
  traces::Layer layer;
  traces::Direction direction = traces::Direction::kForward;
  traces::RingStep ring_step{};  ///< none: not in a single ring step
  std::string says{};            ///< text of the evidence or name of the buffer
};

/// Returns mistakes of one block or one merge in forward.
const std::vector<Unlisted>& unlistedOfForward();
/// Returns mistakes of one block or one hop in backward.
const std::vector<Unlisted>& unlistedOfBackward();
/// Returns mistakes around attention.
const std::vector<Unlisted>& unlistedAroundAttention();

/// Reports whether a seam is called at this rank, layer, direction and ring step; a negative step
/// matches any.
inline bool isAt(const SeamPlace& at, int rank, int layer, traces::Direction direction, int step) {
  return at.worldRank().value() == rank && at.place.layer.value() == layer &&
         at.place.direction == direction && (step < 0 || at.place.stage.value() == step);
}

}  // namespace ringscope::engine::test
