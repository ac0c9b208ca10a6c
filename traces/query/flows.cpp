// SPDX-License-Identifier: Apache-2.0
#include "traces/query/flows.h"

#include <limits>
#include <unordered_map>

namespace ringscope::traces {

std::vector<Flow> matchFlows(const Trace& trace, Payload payload) {
  std::vector<Flow> flows;
  std::unordered_map<std::uint64_t, std::size_t> index;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      const bool send = event.kind == EventKind::kSend;
      if (event.payload != payload || (!send && event.kind != EventKind::kReceive)) continue;
      const auto [at, added] = index.try_emplace(event.flow, flows.size());
      if (added) flows.emplace_back();
      (send ? flows[at->second].send : flows[at->second].receive) = &event;
    }
  }
  return flows;
}

HopCount countHops(const Trace& trace, WorldRank rank, Payload payload, std::int32_t train_step,
                   Layer layer, Direction direction) {
  HopCount count;
  const Place first{train_step, layer, direction, RingStep::none()};
  Place last = first;
  last.stage = RingStep::of(std::numeric_limits<RingStep::Value>::max());
  for (const Event& event : trace.eventsAt(first, last, rank)) {
    if (event.kind != EventKind::kSend || event.payload != payload) continue;
    ++count.hops;
    count.bytes += event.bytes;
  }
  return count;
}

}  // namespace ringscope::traces
