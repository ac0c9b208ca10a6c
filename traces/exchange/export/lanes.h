// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// An event and the lane of its rank on which it is drawn.
struct LaneEvent {
  Event event;
  std::size_t lane = 0;
};

/// The events of one rank, assigned to lanes. Two events of a lane are either disjoint or nested,
/// because trace viewers can show nothing else. Lane 0 is the rank's own thread. Messages and
/// queues of a device have lanes of their own, as many as overlap.
struct RankLanes {
  std::vector<std::string> names;  ///< "work", "send", "send 2", "queue 1", …
  /// Sorted by begin, and for equal begins longest first, so that an event follows the event that
  /// contains it.
  std::vector<LaneEvent> events;
};
RankLanes makeLanes(const Trace& trace, WorldRank rank);

/// Returns the nanoseconds to add to the recording's times so that none is negative.
std::int64_t shiftToZero(const Trace& trace);

/// Returns the text that a viewer shows on an event: "attend", "send kv", "collective grads".
std::string titleFor(const Event& event);

}  // namespace ringscope::traces
