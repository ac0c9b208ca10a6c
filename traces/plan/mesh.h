// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/groups.h"
#include "traces/plan/rank_order.h"

namespace ringscope::traces {

/// The coordinates of a rank in the mesh: its rank in its dp, its tp and its cp group.
struct MeshPlace {
  GroupRank dp = GroupRank::of(0), tp = GroupRank::of(0), cp = GroupRank::of(0);
  friend bool operator==(const MeshPlace&, const MeshPlace&) = default;
};

/// The (dp, tp, cp) mesh of a run in row-major order. The ranks of a cp group are neighbours, so
/// that hops stay short. Integers only.
struct Mesh {
  int dp = 1, tp = 1, cp = 1;

  int worldSize() const { return dp * tp * cp; }
  /// Returns all ranks in order.
  std::vector<WorldRank> ranks() const { return ranksFrom(WorldRank::of(0), worldSize()); }
  MeshPlace placeFor(WorldRank rank) const;
  WorldRank rankFor(const MeshPlace& place) const;

  /// Return the ranks that differ from `rank` in one coordinate only, ordered by that coordinate.
  /// The rank itself is among them.
  std::vector<WorldRank> dpGroup(WorldRank rank) const;
  std::vector<WorldRank> tpGroup(WorldRank rank) const;
  std::vector<WorldRank> cpGroup(WorldRank rank) const;
  /// Returns dp × cp flattened: all ranks that hold the same slice of the weights.
  std::vector<WorldRank> dpCpGroup(WorldRank rank) const;
  /// Returns all groups of the run for the recording: the world, and the dp, tp, cp and dp × cp
  /// groups. When `ulysses` > 1, the rings and the Ulysses groups of each cp group follow. Ids are
  /// 0, 1, 2 …
  std::vector<GroupRecord> groups(int ulysses) const;

  /// Returns "dp × tp × cp = 2 × 1 × 4 = 8".
  std::string arithmetic() const;
  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::vector<WorldRank> row(WorldRank rank, GroupRank MeshPlace::*axis, int size) const;
};

}  // namespace ringscope::traces
