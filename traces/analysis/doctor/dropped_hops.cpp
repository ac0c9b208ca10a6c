// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/dropped_hops.h"

#include <algorithm>

#include "traces/format/core/prose.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/flows.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

constexpr const char* kHopRemedy =
    "Post one receive for each send, with the same group and the same peers on both sides.";

/// Counts the messages of blocks and gradients between two ranks in the attention pass of an event,
/// as one of them recorded them.
std::int64_t countMessages(const Trace& trace, const Event& in, EventKind kind, WorldRank of,
                           WorldRank peer) {
  return std::ranges::count_if(trace.events(of), [&](const Event& event) {
    return event.kind == kind && event.peer == peer &&
           (event.payload == Payload::kKv || event.payload == Payload::kDkv) &&
           event.place.train_step == in.place.train_step && event.place.layer == in.place.layer &&
           event.place.direction == in.place.direction && event.microbatch == in.microbatch;
  });
}

/// Reports whether the recorder may have taken the other end of a message for something else. It
/// recognises hops by what each rank does. A rank that only sends may not be recognised, and the
/// payloads of both ends can differ.
bool mayBeUnrecognised(const Trace& trace, const Event& event) {
  if (!isForeign(trace)) return false;
  const EventKind other = event.kind == EventKind::kSend ? EventKind::kReceive : EventKind::kSend;
  const std::int64_t there = countMessages(trace, event, other, event.peer, event.rank);
  return there == 0 || there == countMessages(trace, event, event.kind, event.rank, event.peer);
}

}  // namespace

Finding droppedHopFinding(const Place& place, WorldRank rank, const char* title,
                          std::string evidence) {
  return {.title = title,
          .place = place,
          .rank = rank,
          .buffer = name(Payload::kKv),
          .evidence = std::move(evidence),
          .remedy = kHopRemedy};
}

UnpairedMessage findUnpaired(const Trace& trace) {
  UnpairedMessage found;
  const Ending ending = findEnding(trace);
  for (const Payload payload : {Payload::kKv, Payload::kDkv})
    for (const Flow& flow : matchFlows(trace, payload)) {
      if (flow.send && flow.receive) continue;
      const Event& event = flow.send ? *flow.send : *flow.receive;
      if (!ending.wholeAt(event.place.train_step)) continue;
      if (trace.events(event.peer).empty()) {
        found.open = "needs what rank " + toString(event.peer) +
                     " recorded too; join the files of all ranks with ringscope merge";
        continue;
      }
      if (mayBeUnrecognised(trace, event)) {
        found.open = "needs both ends of the message between rank " + toString(event.rank) +
                     " and rank " + toString(event.peer) + ", of which one was not recognised";
        continue;
      }
      Finding f =
          droppedHopFinding(event.place, event.rank,
                            flow.send ? "A block was sent and never received"
                                      : "A block was received that nobody sent",
                            describeBytes(event.bytes) + " between rank " + toString(event.rank) +
                                " and rank " + toString(event.peer) + " have no counterpart.");
      f.buffer = name(payload);
      found.finding = std::move(f);
      return found;
    }
  return found;
}

}  // namespace ringscope::traces
