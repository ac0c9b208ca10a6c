// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "traces/analysis/account/time_folds.h"
#include "viz/scene/cursor.h"
#include "viz/scene/stage_window.h"

namespace ringscope::viz {

using traces::TimeFold;
using traces::TimeFolds;

/// A stretch of one rank's time: a block attended, a merge, a wait or a pause.
struct PassBar {
  GroupRank seat = GroupRank::of(0);  ///< of the rank, from the top
  traces::EventKind kind = traces::EventKind::kAttend;
  WorldRank source_rank;  ///< whose block is attended
  std::int64_t begin_ns = 0, end_ns = 0;

  friend bool operator==(const PassBar&, const PassBar&) = default;
};

/// A message on its way.
struct PassFlow {
  GroupRank from_seat = GroupRank::of(0);
  GroupRank to_seat;  ///< none: to a rank of another group
  WorldRank source_rank;
  bool gradient = false;  ///< carries dK and dV
  std::int64_t begin_ns = 0, end_ns = 0;

  friend bool operator==(const PassFlow&, const PassFlow&) = default;
};

/// The lane of one rank.
struct PassLane {
  WorldRank rank = WorldRank::of(0);
  std::vector<StageWindow> stages;  ///< its own work by ring step

  friend bool operator==(const PassLane&, const PassLane&) = default;
};

/// The pass around the viewed moment: one direction of one layer, over all ranks of a group. Times
/// are of the run's clock.
struct PassScene {
  Place pass;                             ///< at ring step 0
  WorldRank selected = WorldRank::of(0);  ///< rank
  std::int64_t begin_ns = 0, end_ns = 0;  ///< of everything drawn; equal: nothing is recorded
  std::vector<PassLane> lanes;
  std::vector<PassBar> bars;
  std::vector<PassFlow> flows;
  TimeFolds pauses;  ///< in which all ranks were held: they take no room

  /// The instant on the run's clock that the selected rank's phase in a ring step means.
  std::int64_t instantAt(RingStep ring_step, double phase) const;

  friend bool operator==(const PassScene&, const PassScene&) = default;
};

PassScene makePassScene(const traces::Trace& trace, const Cursor& cursor);

}  // namespace ringscope::viz
