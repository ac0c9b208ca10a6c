// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::traces {

/// `count` ranks: first, first + distance, first + 2·distance …
template <typename Rank>
std::vector<Rank> ranksFrom(Rank first, int count, int distance = 1) {
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ranks.push_back(Rank::of(first.value() + i * distance));
  return ranks;
}

/// The ranks of a group of `size`.
inline std::vector<GroupRank> everyRank(int size) {
  return ranksFrom(GroupRank::of(0), size);
}

/// The rank `hops` further round a ring of `size` ranks; further back where `hops` is negative.
inline GroupRank roundRing(GroupRank rank, int hops, int size) {
  return GroupRank::of(((rank.value() + hops) % size + size) % size);
}

/// Where a cp rank stands when `ulysses` neighbours share heads and KV goes round between those
/// groups of neighbours.
struct HybridPlace {
  GroupRank first_neighbour;  ///< in the cp group: the first who shares heads with it
  GroupRank among_neighbours;
  GroupRank in_ring;

  static HybridPlace of(GroupRank cp_rank, int ulysses) {
    const int among = cp_rank.value() % ulysses;
    return {GroupRank::of(cp_rank.value() - among), GroupRank::of(among),
            GroupRank::of(cp_rank.value() / ulysses)};
  }
};

}  // namespace ringscope::traces
