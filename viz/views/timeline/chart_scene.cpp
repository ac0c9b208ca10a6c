// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/chart_scene.h"

#include <algorithm>

namespace ringscope::viz {

GroupRank ChartScene::rankSeat(WorldRank rank) const {
  const auto found = std::ranges::find(ranks, rank);
  return found == ranks.end() ? GroupRank::none() : GroupRank::of(found - ranks.begin());
}

std::vector<LaneKind> usedLanes(const Tracks& tracks, const std::vector<WorldRank>& ranks) {
  std::vector<LaneKind> kinds = {LaneKind::kCompute};
  for (const LaneKind kind : {LaneKind::kKv, LaneKind::kDkv, LaneKind::kCollective})
    if (std::ranges::any_of(ranks, [&](WorldRank rank) {
          const RankTracks* of = tracks.of(rank);
          return of && of->lane(kind).size() > 0;
        }))
      kinds.push_back(kind);
  return kinds;
}

}  // namespace ringscope::viz
