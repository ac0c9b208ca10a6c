// SPDX-License-Identifier: Apache-2.0
// Every send must have its receive and the other way round.
#include "traces/core/prose.h"
#include "traces/doctor/rule.h"
#include "traces/query/ending.h"
#include "traces/query/flows.h"

namespace ringscope::traces {

namespace {

/// Asked when all events were decoded.
bool lacksEvents(const Trace& trace) {
  const auto& rows = trace.end()->rows_by_kind;
  const auto kind = static_cast<std::size_t>(ChunkKind::kEvents);
  return kind < rows.size() && trace.eventCount() < rows[kind];
}

}  // namespace

RuleResult checkDroppedHop(const Trace& trace) {
  if (!trace.end() || trace.end()->dropped_events > 0)
    return notObservable("needs a recording that was finished without dropped events");
  // What was under way when a run was lost has no receive, and nobody dropped it.
  if (const Ending ending = endingOf(trace); !ending.whole())
    return notObservable("needs a run that came to its end; " + describe(ending));
  const Event* unseen = nullptr;  // whose other end nobody recorded
  for (const Payload payload : {Payload::kKv, Payload::kDkv}) {
    const auto flows = matchFlows(trace, payload);
    if (lacksEvents(trace)) return notObservable("needs all events, and some cannot be read");
    for (const Flow& flow : flows) {
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
