// SPDX-License-Identifier: Apache-2.0
// KV blocks: whose block a rank uses at each ring step.
#include <algorithm>

#include "traces/analysis/doctor/block_reading.h"
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/format/trace/flows.h"

namespace ringscope::traces {
namespace {

constexpr const char* kRotationRemedy =
    "After each ring step make the block that has arrived the one that is attended (and wait for "
    "it first); swap the two buffers every step.";
constexpr FindingWords kAttendedAgain = {
    "A block is attended more than once",
    "Rank {rank} attends {pairs} again, of the block of rank {source}.", kRotationRemedy};
constexpr FindingWords kNeverRotated = {
    "The same KV block is used at every ring step",
    "At {wrong} of {of} ring steps with a block of another rank, rank {rank} attends the one that "
    "it began with: where it should have that of rank {source} the hash is still that of rank "
    "{held}'s.",
    kRotationRemedy};

constexpr const char* kDirectionTitle =
    "Blocks are taken for those of other ranks than they are of";
constexpr const char* kDirectionRemedy =
    "Send to the rank whose steps take the block over: with sources r, r − 1, r − 2, … KV goes to "
    "rank r + 1 and comes from r − 1. Take peers and sources from one function of rank and step.";
constexpr FindingWords kOfOtherRanks = {
    kDirectionTitle,
    "The block that rank {rank} takes for that of rank {source} has the hash of rank {held}'s.",
    kDirectionRemedy};

constexpr FindingWords kReordered = {
    "KV blocks arrive with their values in another order",
    "What rank {rank} has as the block of rank {source} has another hash than that one's own and "
    "the same smallest, largest and mean value; so have {wrong} of the {of} blocks of other ranks "
    "that it holds.",
    "Call contiguous() on K and V (and on halves of them) before they are sent or written into a "
    "buffer: a message is the tensor's memory, whatever its strides say."};

constexpr FindingWords kOldInBackward = {
    "Backward uses the KV block of its first ring step again and again",
    "Forward had the right block at every ring step. In backward rank {rank} has that of rank "
    "{held} where it takes it for that of rank {source}, and {wrong} wrong ones in all.",
    "Let backward pass KV round as forward does, and compute each ring step's gradients with the "
    "block that has arrived, not with the k and v that were saved."};

bool isEarlier(const Event& a, const Event& b) {
  return a.place == b.place ? a.rank < b.rank : before(a.place, b.place);
}

/// Sender and receiver name different owners of a block.
Finding differentSources(const Flow& flow) {
  const Event& receive = *flow.receive;
  return {.title = kDirectionTitle,
          .place = receive.place,
          .rank = receive.rank,
          .buffer = name(receive.payload),
          .evidence = "Rank " + toString(flow.send->rank) + " sends the " +
                      (receive.payload == Payload::kKv ? "KV" : "dK and dV") + " of rank " +
                      toString(flow.send->source_rank) + "'s block, and rank " +
                      toString(receive.rank) + " takes them for those of rank " +
                      toString(receive.source_rank) + "'s.",
          .remedy = kDirectionRemedy};
}

}  // namespace

// At every ring step a rank holds another block, and attends no (query, key) pair twice.
RuleResult checkKvNotRotated(const Readings& readings) {
  RuleResult by_pairs = answerFrom(readings.coverage(), AttentionIs::kRepeated, kAttendedAgain);
  if (by_pairs.verdict == Verdict::kFound) return by_pairs;
  const RuleResult by_hashes =
      answerFrom(readings.blocks(), BlocksAre::kNeverRotated, kNeverRotated);
  return by_hashes.verdict == Verdict::kClear ? by_pairs : by_hashes;
}

// Sender and receiver of a message name the same owner of the block, and hashes agree with it.
RuleResult checkWrongRingDirection(const Readings& readings) {
  const Trace& trace = readings.trace();
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
  if (first.receive) return found(differentSources(first));
  RuleResult by_hashes = answerFrom(readings.blocks(), BlocksAre::kOfOtherRanks, kOfOtherRanks);
  if (by_hashes.verdict == Verdict::kClear && !known)
    return notObservable("needs both ends of every message, with whose block it carries");
  return by_hashes;
}

// A KV block has the same bytes on every rank.
RuleResult checkNonContiguousKv(const Readings& readings) {
  return answerFrom(readings.blocks(), BlocksAre::kReordered, kReordered);
}

// The KV blocks of backward's ring steps are those of the ranks that they are taken for.
RuleResult checkStaleKvInBackward(const Readings& readings) {
  return answerFrom(readings.blocks(), BlocksAre::kOldInBackward, kOldInBackward);
}

}  // namespace ringscope::traces
