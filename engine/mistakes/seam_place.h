// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/plan.h"
#include "traces/format/schema/place.h"

namespace ringscope::engine {

/// The place at which a seam is reached: the rank in its groups, and how far the run is.
struct SeamPlace {
  Mesh mesh;              ///< sizes of the groups
  MeshPlace rank;         ///< this rank in each of them
  traces::Place place;    ///< training step, layer, direction, ring step; none outside of one
  GroupRank source_rank;  ///< cp rank that owns the KV block in use; none: no block is

  WorldRank worldRank() const { return mesh.rankFor(rank); }
  GroupRank cpRank() const { return rank.cp; }
};

}  // namespace ringscope::engine
