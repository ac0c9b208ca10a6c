// SPDX-License-Identifier: Apache-2.0
// Sender and receiver of a message say the same of whose block it is.
#include <algorithm>

#include "traces/analysis/doctor/block_reading.h"
#include "traces/format/trace/flows.h"

namespace ringscope::traces {
namespace {

constexpr const char* kTitle = "Blocks are taken for those of other ranks than they are of";
constexpr const char* kDirectionRemedy =
    "Send to the rank whose steps take the block over: with sources r, r − 1, r − 2, … KV goes to "
    "rank r + 1 and comes from r − 1. Take peers and sources from one function of rank and step.";

bool isEarlier(const Event& a, const Event& b) {
  return a.place == b.place ? a.rank < b.rank : before(a.place, b.place);
}

Finding finding(const Flow& flow) {
  const Event& receive = *flow.receive;
  Finding f;
  f.rule = "wrong_ring_direction";
  f.severity = "error";
  f.confidence = "certain";
  f.title = kTitle;
  f.place = receive.place;
  f.rank = receive.rank;
  f.buffer = name(receive.payload);
  f.evidence = "Rank " + toString(flow.send->rank) + " sends the " +
               (receive.payload == Payload::kKv ? "KV" : "dK and dV") + " of rank " +
               toString(flow.send->source_rank) + "'s block, and rank " + toString(receive.rank) +
               " takes them for those of rank " + toString(receive.source_rank) + "'s.";
  f.remedy = kDirectionRemedy;
  return f;
}

}  // namespace

RuleResult checkWrongRingDirection(const Trace& trace) {
  Flow first;
  bool known = true;
  for (const Payload payload : {Payload::kKv, Payload::kDkv})
    for (const Flow& flow : matchFlows(trace, payload)) {
      const bool both = flow.send && flow.receive && flow.send->source_rank.exists() &&
                        flow.receive->source_rank.exists();
      known = known && both;
      if (!both || flow.send->source_rank == flow.receive->source_rank) continue;
      if (!first.receive || isEarlier(*flow.receive, *first.receive)) first = flow;
    }
  if (first.receive) return found(finding(first));
  RuleResult by_hashes =
      answerOf(readBlocks(trace), BlocksAre::kOfOtherRanks, "wrong_ring_direction",
               [](const BlockReading& blocks, Finding& f) {
                 f.title = kTitle;
                 f.evidence = "The block that rank " + toString(blocks.rank) +
                              " takes for that of rank " + toString(blocks.source) +
                              " has the hash of rank " + toString(blocks.held) + "'s.";
                 f.remedy = kDirectionRemedy;
               });
  if (by_hashes.verdict == Verdict::kClear && !known)
    return notObservable("needs both ends of every message, with whose block it carries");
  return by_hashes;
}

}  // namespace ringscope::traces
