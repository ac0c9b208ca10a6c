// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/groups.h"
#include "traces/plan/rank_order.h"

namespace ringscope::traces {

/// Where a rank is in the mesh: its rank in its dp, its tp and its cp group.
struct MeshPlace {
  GroupRank dp = GroupRank::of(0), tp = GroupRank::of(0), cp = GroupRank::of(0);
  friend bool operator==(const MeshPlace&, const MeshPlace&) = default;
};

/// The (dp, tp, cp) mesh of a run, row-major: cp ranks are neighbours, so that hops stay short.
/// Integers only.
struct Mesh {
  int dp = 1, tp = 1, cp = 1;

  int worldSize() const { return dp * tp * cp; }
  /// All of them, in order.
  std::vector<WorldRank> ranks() const { return ranksFrom(WorldRank::of(0), worldSize()); }
  MeshPlace placeOf(WorldRank rank) const;
  WorldRank rankOf(const MeshPlace& place) const;

  /// Ranks that differ from `rank` in one coordinate only, in its order; the rank is among them.
  std::vector<WorldRank> dpGroup(WorldRank rank) const;
  std::vector<WorldRank> tpGroup(WorldRank rank) const;
  std::vector<WorldRank> cpGroup(WorldRank rank) const;
  /// dp × cp flattened: all that hold the same slice of the weights.
  std::vector<WorldRank> dpCpGroup(WorldRank rank) const;
  /// All groups of the run, for the recording: the world, and the dp, tp, cp and dp × cp groups;
  /// within each cp group its rings and the ranks that share heads, where `ulysses` > 1. Ids are 0,
  /// 1, 2 …
  std::vector<GroupRecord> groups(int ulysses) const;

  /// "dp × tp × cp = 2 × 1 × 4 = 8".
  std::string arithmetic() const;
  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::vector<WorldRank> row(WorldRank rank, GroupRank MeshPlace::*axis, int size) const;
};

}  // namespace ringscope::traces
