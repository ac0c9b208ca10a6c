// SPDX-License-Identifier: Apache-2.0
// Every send must have its receive and the other way round, and a rank that goes on to the next
// ring step must have had a hop.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/flows.h"
#include "traces/plan/strategy.h"

namespace ringscope::traces {
namespace {

constexpr const char* kHopRemedy =
    "Post one receive for each send, with the same group and the same peers on both sides.";

Finding finding(const Place& place, WorldRank rank, const char* title, std::string evidence) {
  Finding f;
  f.rule = "dropped_hop";
  f.severity = "error";
  f.confidence = "certain";
  f.title = title;
  f.place = place;
  f.rank = rank;
  f.buffer = name(Payload::kKv);
  f.evidence = std::move(evidence);
  f.remedy = kHopRemedy;
  return f;
}

/// The end of a message without the other; `unseen`: one whose other end nobody recorded.
std::optional<Finding> unpaired(const Trace& trace, const Event*& unseen) {
  for (const Payload payload : {Payload::kKv, Payload::kDkv})
    for (const Flow& flow : matchFlows(trace, payload)) {
      if (flow.send && flow.receive) continue;
      const Event& event = flow.send ? *flow.send : *flow.receive;
      if (trace.events(event.peer).empty()) {
        unseen = &event;
        continue;
      }
      Finding f = finding(event.place, event.rank,
                          flow.send ? "A block was sent and never received"
                                    : "A block was received that nobody sent",
                          describeBytes(event.bytes) + " between rank " + toString(event.rank) +
                              " and rank " + toString(event.peer) + " have no counterpart.");
      f.buffer = name(payload);
      return f;
    }
  return std::nullopt;
}

/// Ring steps of one pass of a rank: in which a block came, and the last that it came to.
struct Steps {
  std::vector<RingStep> came;
  Place last;
};

bool isBlockThatCame(const Event& event) {
  return event.kind == EventKind::kReceive && event.payload == Payload::kKv;
}

/// A rank that waits for its neighbour's block has none that came where that one left out its hop.
bool isWaitForBlock(const Event& event) {
  return event.kind == EventKind::kWait && event.payload == Payload::kKv && event.peer.exists();
}

/// Directions in which some rank recorded that it got or waited for a block: in others nothing
/// tells.
std::set<Direction> recordedDirections(const Trace& trace) {
  std::set<Direction> directions;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank)))
      if (isBlockThatCame(event) || isWaitForBlock(event)) directions.insert(event.place.direction);
  return directions;
}

/// The ring step in which a rank's schedule hands blocks on and none came, though the rank went on.
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
    const ScheduleRecord* schedule = trace.schedule(last.train_step, rank, last.direction);
    if (!schedule || !recorded.contains(last.direction)) continue;
    for (const StageRecord& stage : schedule->stages) {
      if (!stage.forwards_kv || !(stage.ring_step < last.stage) ||
          std::ranges::find(steps.came, stage.ring_step) != steps.came.end())
        continue;
      Place at = last;
      at.stage = stage.ring_step;
      return finding(at, rank, "A rank left out a hop of its ring",
                     "Rank " + toString(rank) + " is in ring step " + toString(last.stage) +
                         ", and no block had come to it in ring step " + toString(stage.ring_step) +
                         ", in which its schedule has one come: it goes on with what it had, and "
                         "its neighbours' messages no longer belong to their ring steps.");
    }
  }
  return std::nullopt;
}

/// Hops of a ring come one a ring step; where all blocks are gathered they do not.
bool hops(const Trace& trace) {
  const RunSpec* run = trace.run();
  return run && run->command != Command::kImport && !gathersKv(*run);
}

/// Of a run that hung, what its ranks did until then is there.
bool keptItsEvents(const Trace& trace) {
  if (!trace.end() || trace.end()->dropped_events > 0) return false;
  const auto& rows = trace.end()->rows_by_kind;
  const auto kind = static_cast<std::size_t>(ChunkKind::kEvents);
  for (int rank = 0; rank < trace.worldSize(); ++rank) trace.events(WorldRank::of(rank));
  return kind >= rows.size() || trace.eventCount() >= rows[kind];
}

}  // namespace

RuleResult checkDroppedHop(const Trace& trace) {
  if (hops(trace) && keptItsEvents(trace)) {
    const std::set<Direction> recorded = recordedDirections(trace);
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      if (auto f = skipped(trace, WorldRank::of(rank), recorded)) return found(std::move(*f));
  }
  if (const std::string missing = missingEvents(trace); !missing.empty())
    return notObservable(missing);
  const Event* unseen = nullptr;
  if (auto f = unpaired(trace, unseen)) return found(std::move(*f));
  if (unseen)
    return notObservable("needs what rank " + toString(unseen->peer) +
                         " recorded too; join the files of all ranks with ringscope merge");
  return clear();
}

}  // namespace ringscope::traces
