// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// An event and the lane of its rank that it is drawn on.
struct LaneEvent {
  Event event;
  std::size_t lane = 0;
};

/// The events of one rank on lanes on which any two of them are apart or one within the other,
/// which is all that viewers of traces can show. Lane 0 is the rank's own thread; messages and
/// queues of a device have lanes of their own, as many as overlap.
struct RankLanes {
  std::vector<std::string> names;  ///< "work", "send", "send 2", "queue 1", …
  /// By begin, and of equal ones the longer first: each comes after what it is within.
  std::vector<LaneEvent> events;
};
RankLanes lanesOf(const Trace& trace, WorldRank rank);

/// What has to be added to the recording's times so that none is negative.
std::int64_t shiftToZero(const Trace& trace);

/// "attend", "send kv", "collective grads": what a viewer shows on an event.
std::string titleOf(const Event& event);

}  // namespace ringscope::traces
