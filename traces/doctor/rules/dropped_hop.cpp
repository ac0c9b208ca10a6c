// SPDX-License-Identifier: Apache-2.0
// Every send must have its receive and the other way round.
#include "traces/core/prose.h"
#include "traces/doctor/attention_passes.h"
#include "traces/doctor/rule.h"
#include "traces/query/flows.h"

namespace ringscope::traces {

RuleResult checkDroppedHop(const Trace& trace) {
  if (const std::string missing = missingEvents(trace); !missing.empty())
    return notObservable(missing);
  const Event* unseen = nullptr;  // whose other end nobody recorded
  for (const Payload payload : {Payload::kKv, Payload::kDkv}) {
    for (const Flow& flow : matchFlows(trace, payload)) {
      if (flow.send && flow.receive) continue;
      const Event& event = flow.send ? *flow.send : *flow.receive;
      if (trace.events(event.peer).empty()) {
        unseen = &event;
        continue;
      }
      Finding f;
      f.rule = "dropped_hop";
      f.severity = "error";
      f.confidence = "certain";
      f.title = flow.send ? "A block was sent and never received"
                          : "A block was received that nobody sent";
      f.place = event.place;
      f.rank = event.rank;
      f.buffer = name(payload);
      f.evidence = describeBytes(event.bytes) + " between rank " + toString(event.rank) +
                   " and rank " + toString(event.peer) + " have no counterpart.";
      f.remedy =
          "Post one receive for each send, with the same group and the same peers on both sides.";
      return found(std::move(f));
    }
  }
  if (unseen)
    return notObservable("needs what rank " + toString(unseen->peer) +
                         " recorded too; join the files of all ranks with ringscope merge");
  return clear();
}

}  // namespace ringscope::traces
