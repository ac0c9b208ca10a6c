// SPDX-License-Identifier: Apache-2.0
// Every send must have its receive and the other way round.
#include "traces/doctor/rule.h"
#include "traces/query/flows.h"

namespace ringscope::traces {

RuleResult checkDroppedHop(const Trace& trace) {
  if (!trace.end() || trace.end()->dropped_events > 0)
    return notObservable("needs a recording that was finished without dropped events");
  for (const Payload payload : {Payload::kKv, Payload::kDkv}) {
    for (const Flow& flow : matchFlows(trace, payload)) {
      if (flow.send && flow.receive) continue;
      const Event& event = flow.send ? *flow.send : *flow.receive;
      Finding f;
      f.rule = "dropped_hop";
      f.severity = "error";
      f.confidence = "certain";
      f.title = flow.send ? "A block was sent and never received"
                          : "A block was received that nobody sent";
      f.place = event.place;
      f.rank = event.rank;
      f.buffer = name(payload);
      f.evidence = std::to_string(event.bytes) + " bytes between rank " +
                   std::to_string(event.rank) + " and rank " + std::to_string(event.peer) +
                   " have no counterpart.";
      f.remedy =
          "Post one receive for each send, with the same group and the same peers on both sides.";
      return found(std::move(f));
    }
  }
  return clear();
}

}  // namespace ringscope::traces
