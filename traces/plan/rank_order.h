// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::traces {

/// Returns `count` ranks: first, first + distance, first + 2·distance …
template <typename Rank>
std::vector<Rank> ranksFrom(Rank first, int count, int distance = 1) {
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ranks.push_back(Rank::of(first.value() + i * distance));
  return ranks;
}

/// Returns the ranks of a group of `size` ranks.
inline std::vector<GroupRank> everyRank(int size) {
  return ranksFrom(GroupRank::of(0), size);
}

/// Returns the rank that is `hops` further round a ring of `size` ranks; a negative `hops` goes
/// back.
inline GroupRank roundRing(GroupRank rank, int hops, int size) {
  return GroupRank::of(((rank.value() + hops) % size + size) % size);
}

/// The position of a cp rank when each group of `ulysses` neighbours shares heads and KV travels in
/// rings between these groups.
struct HybridPlace {
  GroupRank first_neighbour;  ///< first rank of its Ulysses group, as a rank of the cp group
  GroupRank among_neighbours;
  GroupRank in_ring;

  static HybridPlace of(GroupRank cp_rank, int ulysses) {
    const int among = cp_rank.value() % ulysses;
    return {GroupRank::of(cp_rank.value() - among), GroupRank::of(among),
            GroupRank::of(cp_rank.value() / ulysses)};
  }
};

}  // namespace ringscope::traces
