// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <vector>

#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::viz {

/// Lanes of a group's ranks through a window of the axis, and what was put on them by hand.
struct ChartScene {
  std::shared_ptr<const Tracks> tracks;  ///< null: there is nothing
  std::vector<WorldRank> ranks;          ///< of the group, from the top
  std::vector<LaneKind> lanes;           ///< of each rank: those that something is recorded in
  bool model = false;                    ///< the axis is the own-device clock
  std::shared_ptr<const CriticalChain> chain;  ///< that is highlighted; null: none is
  std::vector<std::string> captions;  ///< a line under each rank; empty where there is none
  TimeWindow window;
  double origin_ns = 0;  ///< from which the ruler counts: where the viewed training step begins
  WorldRank selected_rank;
  double instant_ns = 0;            ///< that is viewed, on the axis
  SpanPlace selected, hovered;      ///< the bar that was clicked, and the one under the pointer
  std::vector<double> marks;        ///< points of the axis, in the order of making
  std::optional<TimeWindow> range;  ///< that is measured
  std::string range_words;

  bool empty() const { return !tracks || tracks->empty() || ranks.empty(); }
  /// From the top; none: it has no lanes here.
  GroupRank rankSeat(WorldRank rank) const;
};

/// Returns the lanes in which any rank of a group has events.
std::vector<LaneKind> usedLanes(const Tracks& tracks, const std::vector<WorldRank>& ranks);

}  // namespace ringscope::viz
