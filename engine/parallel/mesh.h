// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::engine {

/// Where a rank is in the mesh.
struct MeshPlace {
  int dp = 0, tp = 0, cp = 0;
  friend bool operator==(const MeshPlace&, const MeshPlace&) = default;
};

/// The (dp, tp, cp) mesh of a run, row-major: cp ranks are neighbours, so that hops stay short.
/// Integers only.
struct Mesh {
  int dp = 1, tp = 1, cp = 1;

  int worldSize() const { return dp * tp * cp; }
  MeshPlace placeOf(int rank) const;
  int rankOf(const MeshPlace& place) const;

  /// Ranks that differ from `rank` in one coordinate only, in its order; the rank is among them.
  std::vector<int> dpGroup(int rank) const;
  std::vector<int> tpGroup(int rank) const;
  std::vector<int> cpGroup(int rank) const;
  /// dp × cp flattened: all that hold the same slice of the weights.
  std::vector<int> dpCpGroup(int rank) const;

  /// "dp × tp × cp = 2 × 1 × 4 = 8".
  std::string arithmetic() const;
  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::vector<int> row(int rank, int MeshPlace::*axis, int size) const;
};

}  // namespace ringscope::engine
