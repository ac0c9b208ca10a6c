// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/mesh.h"

namespace ringscope::engine {

MeshPlace Mesh::placeOf(int rank) const {
  return {rank / (tp * cp), rank / cp % tp, rank % cp};
}

int Mesh::rankOf(const MeshPlace& place) const {
  return (place.dp * tp + place.tp) * cp + place.cp;
}

std::vector<int> Mesh::row(int rank, int MeshPlace::*axis, int size) const {
  std::vector<int> ranks;
  MeshPlace place = placeOf(rank);
  for (place.*axis = 0; place.*axis < size; ++(place.*axis)) ranks.push_back(rankOf(place));
  return ranks;
}

std::vector<int> Mesh::dpGroup(int rank) const {
  return row(rank, &MeshPlace::dp, dp);
}
std::vector<int> Mesh::tpGroup(int rank) const {
  return row(rank, &MeshPlace::tp, tp);
}
std::vector<int> Mesh::cpGroup(int rank) const {
  return row(rank, &MeshPlace::cp, cp);
}

std::vector<int> Mesh::dpCpGroup(int rank) const {
  std::vector<int> ranks;
  MeshPlace place = placeOf(rank);
  for (place.dp = 0; place.dp < dp; ++place.dp)
    for (place.cp = 0; place.cp < cp; ++place.cp) ranks.push_back(rankOf(place));
  return ranks;
}

std::string Mesh::arithmetic() const {
  return "dp × tp × cp = " + std::to_string(dp) + " × " + std::to_string(tp) + " × " +
         std::to_string(cp) + " = " + std::to_string(worldSize());
}

}  // namespace ringscope::engine
