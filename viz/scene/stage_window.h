// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// From the begin to the end of a rank's own work in a ring step, in nanoseconds of the run.
struct StageWindow {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< 0: no work is recorded

  bool recorded() const { return end_ns > 0; }
  std::int64_t length() const { return end_ns - begin_ns; }
  /// How far into it a time lies, 0 to 1; 0 where it has no length.
  double fraction(std::int64_t ns) const;
  /// The time that lies so far into it.
  std::int64_t at(double phase) const;

  friend bool operator==(const StageWindow&, const StageWindow&) = default;
};

/// Pauses, and hops of dK and dV, which go on after the work, are left out.
StageWindow stageWindow(const traces::Trace& trace, const traces::Place& place, WorldRank rank);

/// Ring steps of the pass (one direction of one layer) that a place belongs to: as the ranks'
/// schedules have them, and never fewer than are recorded.
int countRingSteps(const traces::Trace& trace, traces::Place place,
                   const std::vector<WorldRank>& ranks);

}  // namespace ringscope::viz
