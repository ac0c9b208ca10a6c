// SPDX-License-Identifier: Apache-2.0
#include "traces/query/flows.h"

#include <unordered_map>

namespace ringscope::traces {

std::vector<Flow> matchFlows(const Trace& trace, Payload payload) {
  std::vector<Flow> flows;
  std::unordered_map<std::uint64_t, std::size_t> index;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    for (const Event& event : trace.events(rank)) {
      const bool send = event.kind == EventKind::kSend;
      if (event.payload != payload || (!send && event.kind != EventKind::kReceive)) continue;
      const auto [at, added] = index.try_emplace(event.flow, flows.size());
      if (added) flows.emplace_back();
      (send ? flows[at->second].send : flows[at->second].receive) = &event;
    }
  }
  return flows;
}

HopCount countHops(const Trace& trace, int rank, Payload payload, int train_step, int layer,
                   Direction direction) {
  HopCount count;
  for (const Event& event : trace.events(rank)) {
    const bool here = event.kind == EventKind::kSend && event.payload == payload &&
                      event.place.train_step == train_step && event.place.layer == layer &&
                      event.place.direction == direction;
    if (!here) continue;
    ++count.hops;
    count.bytes += event.bytes;
  }
  return count;
}

}  // namespace ringscope::traces
