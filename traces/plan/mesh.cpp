// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/mesh.h"

namespace ringscope::traces {

MeshPlace Mesh::placeFor(WorldRank rank) const {
  const int r = rank.value();
  return {GroupRank::of(r / (tp * cp)), GroupRank::of(r / cp % tp), GroupRank::of(r % cp)};
}

WorldRank Mesh::rankFor(const MeshPlace& place) const {
  return WorldRank::of((place.dp.value() * tp + place.tp.value()) * cp + place.cp.value());
}

std::vector<WorldRank> Mesh::row(WorldRank rank, GroupRank MeshPlace::*axis, int size) const {
  std::vector<WorldRank> ranks;
  MeshPlace place = placeFor(rank);
  for (const GroupRank at : everyRank(size)) {
    place.*axis = at;
    ranks.push_back(rankFor(place));
  }
  return ranks;
}

std::vector<WorldRank> Mesh::dpGroup(WorldRank rank) const {
  return row(rank, &MeshPlace::dp, dp);
}
std::vector<WorldRank> Mesh::tpGroup(WorldRank rank) const {
  return row(rank, &MeshPlace::tp, tp);
}
std::vector<WorldRank> Mesh::cpGroup(WorldRank rank) const {
  return row(rank, &MeshPlace::cp, cp);
}

std::vector<WorldRank> Mesh::dpCpGroup(WorldRank rank) const {
  std::vector<WorldRank> ranks;
  for (const WorldRank first : dpGroup(cpGroup(rank).front()))
    for (const WorldRank member : cpGroup(first)) ranks.push_back(member);
  return ranks;
}

std::vector<GroupRecord> Mesh::groups(int ulysses) const {
  constexpr GroupRank kFirst = GroupRank::of(0);
  std::vector<GroupRecord> all;
  auto add = [&](GroupAxis axis, std::vector<WorldRank> members) {
    all.push_back({GroupId::of(all.size()), axis, std::move(members)});
  };
  add(GroupAxis::kWorld, ranks());
  for (const WorldRank rank : ranks()) {
    const MeshPlace at = placeFor(rank);
    if (at.dp == kFirst) add(GroupAxis::kDp, dpGroup(rank));
    if (at.tp == kFirst) add(GroupAxis::kTp, tpGroup(rank));
    if (at.cp == kFirst) add(GroupAxis::kCp, cpGroup(rank));
    if (at.dp == kFirst && at.cp == kFirst) add(GroupAxis::kDpCp, dpCpGroup(rank));
  }
  if (ulysses <= 1) return all;
  // These groups come last, so that the ids of the others do not depend on how cp groups are
  // divided.
  for (const WorldRank first : ranksFrom(WorldRank::of(0), dp * tp, cp)) {
    for (const WorldRank rank : ranksFrom(first, ulysses))
      add(GroupAxis::kRing, ranksFrom(rank, cp / ulysses, ulysses));
    for (const WorldRank rank : ranksFrom(first, cp / ulysses, ulysses))
      add(GroupAxis::kUlysses, ranksFrom(rank, ulysses));
  }
  return all;
}

std::string Mesh::arithmetic() const {
  return "dp × tp × cp = " + std::to_string(dp) + " × " + std::to_string(tp) + " × " +
         std::to_string(cp) + " = " + std::to_string(worldSize());
}

}  // namespace ringscope::traces
