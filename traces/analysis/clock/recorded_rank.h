// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

/// The ops of one rank, read from its recorded events alone. Messages, and the subjects of
/// collectives, depend on other ranks and are left open.
struct RecordedRank {
  struct Transfer {
    std::uint32_t event = 0;     ///< a send or a receive
    std::uint32_t exchange = 0;  ///< index in Program::Rank::exchanges
  };
  Program::Rank rank;  ///< the subject of a collective op is its index in `collectives`
  std::vector<Transfer> transfers;         ///< in the order of their exchanges
  std::vector<std::uint32_t> collectives;  ///< events
  std::vector<std::uint32_t> lost_waits;   ///< events that do not name their exchange
  std::int64_t outside_ns = 0;             ///< recorded wall time between events
};

/// Reads the events of one rank, which can be in any order. With `gaps_count` recorded time between
/// events is work of the rank. With `recompute` backward computes activations again, which takes
/// kernels.
RecordedRank recordedRank(const std::vector<Event>& events, bool gaps_count, bool recompute);

/// Returns the time that a device of the rank's own needs for an event: its CPU time, or its time
/// by a device's clock.
inline std::int64_t ownTimeNs(const Event& event) {
  return event.clock == Clock::kDevice ? event.duration() : event.cpu_ns;
}

}  // namespace ringscope::traces
