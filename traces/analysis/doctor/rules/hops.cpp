// SPDX-License-Identifier: Apache-2.0
// Messages of the ring, and the groups in which they are sent.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/doctor/dropped_hops.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/summed_activations.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/flows.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/plan/strategy.h"

namespace ringscope::traces {

// dropped_hop: a send has no receive or a receive no send, or a rank went on to the next ring step
// without a hop.
namespace {

/// The ring steps of one pass of a rank in which a block arrived, and the last ring step.
struct Steps {
  std::vector<RingStep> came;
  Place last;
};

bool isBlockThatCame(const Event& event) {
  return event.kind == EventKind::kReceive && event.payload == Payload::kKv;
}

/// Reports whether a rank waits for its neighbour's block, which does not arrive when the neighbour
/// left out its hop.
bool isWaitForBlock(const Event& event) {
  return event.kind == EventKind::kWait && event.payload == Payload::kKv && event.peer.exists();
}

/// Returns the directions in which a rank recorded that a block arrived or that it waited for one.
/// Nothing can be judged in the others.
std::set<Direction> recordedDirections(const Trace& trace) {
  std::set<Direction> directions;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank)))
      if (isBlockThatCame(event) || isWaitForBlock(event)) directions.insert(event.place.direction);
  return directions;
}

/// Finds the ring step in which a block should have arrived and did not, though the rank went on.
std::optional<Finding> skipped(const Trace& trace, WorldRank rank,
                               const std::set<Direction>& recorded) {
  std::map<std::tuple<std::int32_t, Layer, Direction, std::int32_t>, Steps> passes;
  for (const Event& event : trace.events(rank)) {
    if (event.place.layer.isNone() || event.place.stage.isNone()) continue;
    const auto [pass, is_new] = passes.try_emplace(
        {event.place.train_step, event.place.layer, event.place.direction, event.microbatch});
    Steps& steps = pass->second;
    if (isBlockThatCame(event)) steps.came.push_back(event.place.stage);
    if (is_new || steps.last.stage < event.place.stage) steps.last = event.place;
  }
  for (const auto& [pass, steps] : passes) {
    const Place& last = steps.last;
    const ScheduleRecord* schedule =
        trace.schedule(last.train_step, rank, last.direction, last.layer);
    if (!schedule || !recorded.contains(last.direction)) continue;
    for (const StageRecord& stage : schedule->stages) {
      if (!stage.forwards_kv || !(stage.ring_step < last.stage) ||
          std::ranges::find(steps.came, stage.ring_step) != steps.came.end())
        continue;
      Place at = last;
      at.stage = stage.ring_step;
      return droppedHopFinding(
          at, rank, "A rank left out a hop of its ring",
          "Rank " + toString(rank) + " is in ring step " + toString(last.stage) +
              ", and no block had come to it in ring step " + toString(stage.ring_step) +
              ", in which its schedule has one come: it goes on with what it had, and "
              "its neighbours' messages no longer belong to their ring steps.");
    }
  }
  return std::nullopt;
}

/// Reports whether a block arrives in each ring step. Gathered blocks all arrive in the first one.
bool hopsEachStep(const Trace& trace) {
  const RunSpec* run = trace.run();
  return run && run->command != Command::kImport && !gathersKv(*run);
}

/// Reports whether all events of the run are recorded, also those of a run that hung.
bool keptItsEvents(const Trace& trace) {
  if (!trace.end() || trace.end()->dropped_events > 0) return false;
  const auto& rows = trace.end()->rows_by_kind;
  const auto kind = static_cast<std::size_t>(ChunkKind::kEvents);
  for (int rank = 0; rank < trace.worldSize(); ++rank) trace.events(WorldRank::of(rank));
  return kind >= rows.size() || trace.eventCount() >= rows[kind];
}

}  // namespace

RuleResult checkDroppedHop(const Trace& trace) {
  if (hopsEachStep(trace) && keptItsEvents(trace)) {
    const std::set<Direction> recorded = recordedDirections(trace);
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      if (auto f = skipped(trace, WorldRank::of(rank), recorded)) return found(std::move(*f));
  }
  if (const std::string missing = missingEvents(trace); !missing.empty())
    return notObservable(missing);
  UnpairedMessage unpaired = findUnpaired(trace);
  if (unpaired.finding) return found(std::move(*unpaired.finding));
  return unpaired.open.empty() ? clear() : notObservable(unpaired.open);
}

// dkv_not_returned: other ranks attended a rank's keys, and the sums of their gradients do not
// arrive.
namespace {

/// A rank to which no message brought the gradients of its keys, and a rank that has some of them.
struct UnreturnedBlock {
  WorldRank owner,
      attended_by;  ///< attended_by is none when the owner sent the gradients away itself
};

bool isOfBlock(const Event& message, EventKind kind, WorldRank owner) {
  return message.kind == kind && message.payload == Payload::kDkv && message.source_rank == owner;
}

std::vector<UnreturnedBlock> unreturnedBlocks(const AttentionPass& pass,
                                              const std::vector<WorldRank>& members) {
  std::vector<UnreturnedBlock> all;
  for (std::size_t seat = 0; seat < members.size(); ++seat) {
    const WorldRank owner = members[seat];
    const auto moved = [&](EventKind kind) {
      return std::ranges::any_of(pass.messages[seat], [&](const Event* message) {
        return isOfBlock(*message, kind, owner);
      });
    };
    if (moved(EventKind::kReceive)) continue;
    WorldRank attended_by;
    for (std::size_t other = 0; other < members.size() && attended_by.isNone(); ++other)
      if (other != seat && std::ranges::any_of(pass.attended[other], [&](const Event* piece) {
            return piece->source_rank == owner;
          }))
        attended_by = members[other];
    if (attended_by.exists() || moved(EventKind::kSend)) all.push_back({owner, attended_by});
  }
  return all;
}

Finding dkvNotReturnedFinding(const AttentionPass& pass,
                              const std::vector<UnreturnedBlock>& waiting, std::size_t ranks) {
  const auto [owner, by] = waiting.front();
  const std::string rank = toString(owner);
  return {.title = "dK and dV do not come back to the rank that owns the block",
          .place = pass.place,
          .rank = owner,
          .buffer = "dkv",
          .evidence =
              (by.exists()
                   ? "Rank " + toString(by) + " attends keys of rank " + rank + " in backward"
                   : "Rank " + rank + " sends the dK and dV of its own block away in backward") +
              ", and no message brings rank " + rank + " their sums. So it is with " +
              std::to_string(waiting.size()) + " of " + std::to_string(ranks) + " ranks.",
          .remedy =
              "Pass dK and dV on once more after the last ring step: a ring of n ranks that begins "
              "with its own block takes n hops until each sum is home."};
}

}  // namespace

RuleResult checkDkvNotReturned(const Trace& trace) {
  std::string missing;
  bool judged = false;
  for (const auto& members : sequenceGroups(trace))
    for (const AttentionPass& pass : attentionPasses(trace, members)) {
      if (pass.place.direction != Direction::kBackward) continue;
      const auto waiting = unreturnedBlocks(pass, members);
      if (!pass.complete) {
        missing = missingEvents(trace);
        if (missing.empty() && !waiting.empty())
          missing = "needs what all ranks recorded; join their files with ringscope merge";
        continue;
      }
      judged = true;
      if (!waiting.empty()) return found(dkvNotReturnedFinding(pass, waiting, members.size()));
    }
  if (!missing.empty()) return notObservable(missing);
  if (judged || missingEvents(trace).empty()) return clear();
  return notObservable(missingEvents(trace));
}

// wrong_process_group: attention sends to or receives from a rank that does not share the sequence.
namespace {

bool isOfAttention(const Event& event) {
  const bool moves = event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
  return moves && (event.payload == Payload::kKv || event.payload == Payload::kDkv ||
                   event.payload == Payload::kHeads);
}

std::string listRanks(const std::vector<WorldRank>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, ranks.size()); ++i)
    text += (text.empty() ? "" : ", ") + toString(ranks[i]);
  return text + (ranks.size() > kMost ? ", …" : "");
}

/// Names the group in which the message was posted; empty when it is not recorded.
std::string describeGroup(const Trace& trace, const Event& event) {
  for (const GroupRecord& group : trace.groups())
    if (group.id == event.group && std::ranges::count(group.members, event.peer) > 0)
      return std::string(" in the ") + name(group.axis) + " group of ranks " +
             listRanks(group.members);
  return "";
}

Finding wrongProcessGroupFinding(const Trace& trace, const Event& event, const GroupRecord& cp) {
  const bool sends = event.kind == EventKind::kSend;
  return {.title = "Attention talks to ranks of another group",
          .place = event.place,
          .rank = event.rank,
          .buffer = name(event.payload),
          .evidence = "Rank " + toString(event.rank) + (sends ? " sends " : " receives ") +
                      describeBytes(event.bytes) + (sends ? " to" : " from") + " rank " +
                      toString(event.peer) + describeGroup(trace, event) +
                      ", and shares its sequence with ranks " + listRanks(cp.members) + " only.",
          .remedy =
              "Give attention the cp group of the mesh (mesh[\"cp\"].get_group()), and turn a rank "
              "of that group into a global one where the operation asks for global ranks "
              "(dist.get_global_rank(group, rank))."};
}

}  // namespace

RuleResult checkWrongProcessGroup(const Trace& trace) {
  const bool changes = !trace.microbatchGroups().empty();
  if (const auto answer = answerWithoutCp(trace); answer && !changes) return *answer;
  bool knows_groups = false;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const GroupRecord* of_all = trace.groupContaining(WorldRank::of(rank), GroupAxis::kCp);
    knows_groups = knows_groups || of_all;
    if (!of_all && !changes) continue;
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      const StepMicrobatch microbatch{event.place.train_step, event.microbatch};
      const GroupRecord* cp = changes ? sequenceGroup(trace, event.rank, microbatch) : of_all;
      if (!cp) continue;
      knows_groups = true;
      const bool elsewhere = isOfAttention(event) && event.peer.exists() &&
                             std::ranges::count(cp->members, event.peer) == 0;
      if (elsewhere) return found(wrongProcessGroupFinding(trace, event, *cp));
      if (auto summed = summedActivations(trace, event, *cp)) return found(std::move(*summed));
    }
  }
  return knows_groups ? clear() : notObservable("needs which ranks share a sequence");
}

}  // namespace ringscope::traces
