// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "traces/analysis/clock/program.h"

namespace ringscope::traces {

/// What one rank did in which order, read from its recorded events alone; what other ranks must say
/// is left open: messages, and the subjects of collectives.
struct RecordedRank {
  struct Transfer {
    std::uint32_t event = 0;     ///< a send or a receive
    std::uint32_t exchange = 0;  ///< of Program::Rank::exchanges
  };
  Program::Rank rank;                      ///< a collective's subject is its index in `collectives`
  std::vector<Transfer> transfers;         ///< in the order of their exchanges
  std::vector<std::uint32_t> collectives;  ///< events
  std::vector<std::uint32_t> lost_waits;   ///< events that do not say for what they wait
  std::int64_t outside_ns = 0;             ///< recorded wall time between events
};

/// `events` of one rank, in any order. `gaps_count`: recorded time between them is the rank's work.
/// `recompute`: the run computes activations again in backward, which takes kernels.
RecordedRank recordedRank(const std::vector<Event>& events, bool gaps_count, bool recompute);

/// The time that a device of the rank's own needs for an event: CPU time, or a device's clock.
inline std::int64_t workOf(const Event& event) {
  return event.clock == Clock::kDevice ? event.duration() : event.cpu_ns;
}

}  // namespace ringscope::traces
