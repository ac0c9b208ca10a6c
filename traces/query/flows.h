// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::traces {

/// One message: a send and its receive, matched by their flow. Pointers are into the trace.
struct Flow {
  const Event* send = nullptr;     ///< null: nobody is recorded as having sent it
  const Event* receive = nullptr;  ///< null: it was never received
};

/// All messages of one payload, in the order of sending; unmatched ones included.
std::vector<Flow> matchFlows(const Trace& trace, Payload payload);

/// How many hops a direction of one layer took, per rank, and their bytes.
struct HopCount {
  int hops = 0;
  std::int64_t bytes = 0;
};
HopCount countHops(const Trace& trace, WorldRank rank, Payload payload, std::int32_t train_step,
                   Layer layer, Direction direction);

}  // namespace ringscope::traces
