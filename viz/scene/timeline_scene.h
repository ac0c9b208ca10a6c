// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/stage_window.h"

namespace ringscope::viz {

/// A stretch of one rank's time: a block attended, a merge, a wait or a pause.
struct TimelineBar {
  GroupRank seat = GroupRank::of(0);  ///< of the rank, from the top
  traces::EventKind kind = traces::EventKind::kAttend;
  WorldRank source_rank;  ///< whose block is attended
  std::int64_t begin_ns = 0, end_ns = 0;

  friend bool operator==(const TimelineBar&, const TimelineBar&) = default;
};

/// A message on its way.
struct TimelineFlow {
  GroupRank from_seat = GroupRank::of(0);
  GroupRank to_seat;  ///< none: to a rank of another group
  WorldRank source_rank;
  bool gradient = false;  ///< carries dK and dV
  std::int64_t begin_ns = 0, end_ns = 0;

  friend bool operator==(const TimelineFlow&, const TimelineFlow&) = default;
};

/// The lane of one rank.
struct TimelineLane {
  WorldRank rank = WorldRank::of(0);
  std::vector<StageWindow> stages;  ///< its own work by ring step

  friend bool operator==(const TimelineLane&, const TimelineLane&) = default;
};

/// The pass around the viewed moment: one direction of one layer, over all ranks of a group.
struct TimelineScene {
  Place pass;                             ///< at ring step 0
  WorldRank selected = WorldRank::of(0);  ///< rank
  std::int64_t begin_ns = 0, end_ns = 0;  ///< of everything drawn; equal: nothing is recorded
  std::vector<TimelineLane> lanes;
  std::vector<TimelineBar> bars;
  std::vector<TimelineFlow> flows;

  /// The instant on the run's clock that the selected rank's phase in a ring step means.
  std::int64_t instantOf(RingStep ring_step, double phase) const;

  friend bool operator==(const TimelineScene&, const TimelineScene&) = default;
};

TimelineScene makeTimelineScene(const traces::Trace& trace, const Cursor& cursor);

}  // namespace ringscope::viz
