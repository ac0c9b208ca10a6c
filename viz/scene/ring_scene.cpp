// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/ring_scene.h"

#include <algorithm>

#include "traces/format/trace/imported.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/ring_sentence.h"
#include "viz/scene/why_empty.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;
using traces::Payload;
using traces::Trace;

namespace {

/// The sources of every part of a scene.
struct Source {
  const Trace& trace;
  const GroupPass& pass;
};

std::int64_t countElements(const traces::TensorRecord& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= extent;
  return elements;
}

/// After the last merge of a ring step.
MeanLse lseAfter(const Trace& trace, const Place& place, WorldRank rank) {
  if (place.stage.isNone()) return {};
  const auto recorded = trace.tensorsAt({traces::TensorKind::kRunningLse}, place, rank);
  if (recorded.empty()) return {};
  const auto& stats = recorded.back()->stats;
  return {stats.mean, countElements(*recorded.back()) - stats.inf - stats.nan};
}

MovingPacket packetOf(const Event& send, const StageWindow& window) {
  MovingPacket packet;
  packet.payload = send.payload;
  packet.from = send.rank;
  packet.to = send.peer;
  packet.source_rank = send.source_rank;
  packet.bytes = send.bytes;
  packet.begin = window.fraction(send.start_ns);
  packet.end = window.fraction(send.end_ns);
  if (packet.end - packet.begin < kShortestHop) {
    packet.stretched = true;
    packet.begin = std::min(packet.begin, 1.0 - kShortestHop);
    packet.end = packet.begin + kShortestHop;
  }
  return packet;
}

/// Adds an event of the viewed ring step to its rank.
void takeEvent(RankScene& scene, std::vector<MovingPacket>& packets, const Event& event) {
  if (event.kind == EventKind::kAttend) {
    if (std::ranges::find(scene.sources, event.source_rank) == scene.sources.end())
      scene.sources.push_back(event.source_rank);
    scene.attend_ns += event.duration();
  } else if (event.kind == EventKind::kSend) {
    packets.push_back(packetOf(event, scene.window));
  } else if (event.kind == EventKind::kWait && event.payload == Payload::kDkv) {
    scene.sums_wait_ns += event.duration();
  } else if (event.kind == EventKind::kWait) {
    scene.wait_ns += event.duration();
    scene.waits_for =
        scene.waits.empty() || event.peer == scene.waits_for ? event.peer : WorldRank::none();
    scene.waits.push_back({scene.window.fraction(event.begin_ns),
                           scene.window.fraction(event.end_ns), event.duration(), event.peer});
  }
}

/// Rows of which there are some: of several pieces, each row counts once.
std::int64_t countRows(std::vector<std::pair<std::int64_t, std::int64_t>> runs) {
  std::ranges::sort(runs);
  std::int64_t rows = 0, end = 0;
  for (const auto& run : runs) {
    rows += std::max<std::int64_t>(0, run.second - std::max(run.first, end));
    end = std::max(end, run.second);
  }
  return rows;
}

/// Returns the owner of the block that a rank holds: in its one stage, or else in what it attends
/// or sends on.
WorldRank heldSource(const Source& source, const RankScene& scene) {
  const auto stages = source.trace.stagesAt(scene.place, scene.rank);
  if (stages.size() == 1) return stages.front()->source_rank;
  if (!stages.empty()) return WorldRank::none();
  if (!scene.sources.empty()) return scene.sources.back();
  for (const Event& event : source.trace.eventsAt(scene.place, scene.rank))
    if (event.kind == EventKind::kSend && event.payload == Payload::kKv) return event.source_rank;
  return WorldRank::none();
}

/// Says what the rank attends, or why it attends nothing.
void sayAttending(const Source& source, RankScene& scene) {
  const auto stages = source.trace.stagesAt(scene.place, scene.rank);
  scene.attending = describeCells(scene.cells);
  scene.known = scene.queries > 0 || !stages.empty();
  if (!scene.known) {
    scene.idle = "not recorded by block";
    scene.attending = "its blocks are not recorded";
  } else if (scene.queries == 0) {
    scene.idle = emptyWords(whyAllEmpty(stages)).brief;
    scene.attending = "attends nothing: " + scene.idle;
  } else if (scene.attending.empty()) {
    scene.attending =
        std::to_string(scene.queries) + " query rows × block " + listedRanks(scene.sources);
  }
}

RankScene rankAt(const Source& source, WorldRank rank, const Place& place,
                 std::vector<MovingPacket>& packets) {
  RankScene scene;
  scene.rank = rank;
  scene.place = place;
  scene.window = stageWindow(source.trace, place, rank);
  scene.chunks = source.pass.ownedChunks(rank);
  std::vector<std::pair<std::int64_t, std::int64_t>> queries;
  for (Place step = place; step.stage.exists(); step.stage = step.stage.previous())
    for (const Event& event : source.trace.eventsAt(step, rank)) {
      const bool now = step == place;
      if (event.kind == EventKind::kAttend)
        addCells(
            scene.cells, bandFor(event, source.pass.stage(rank, step.stage, event.source_rank)),
            source.pass.rows(rank), source.pass.rows(event.source_rank), event.source_rank, now);
      if (!now) continue;
      takeEvent(scene, packets, event);
      if (event.kind == EventKind::kAttend) queries.emplace_back(event.q_begin, event.q_end);
    }
  scene.queries = countRows(std::move(queries));
  scene.held_source = heldSource(source, scene);
  sayAttending(source, scene);
  if (place.direction == traces::Direction::kForward) {
    Place previous = place;
    previous.stage = previous.stage.previous();
    scene.lse_before = lseAfter(source.trace, previous, rank);
    scene.lse_after = lseAfter(source.trace, place, rank);
  }
  return scene;
}

/// Every ring once, in the order of the ranks.
std::vector<std::vector<WorldRank>> ringsOf(const GroupPass& pass) {
  std::vector<std::vector<WorldRank>> rings;
  for (const WorldRank rank : pass.ranks())
    if (const auto* schedule = pass.schedule(rank);
        schedule && std::ranges::find(rings, schedule->ring) == rings.end())
      rings.push_back(schedule->ring);
  return rings;
}

/// The last ring step that a rank had begun at an instant; ranks are never more than a few apart.
Place placeAt(const Source& source, const Place& viewed, WorldRank rank, std::int64_t instant) {
  const auto& moments = source.trace.moments();
  const auto here = std::lower_bound(moments.begin(), moments.end(), viewed, traces::before);
  const auto moment = static_cast<int>(here - moments.begin());
  const int reach = static_cast<int>(source.pass.ranks().size()) + 1;
  int at = std::min(moment + reach, static_cast<int>(moments.size()) - 1);
  for (; at > std::max(0, moment - reach); --at) {
    const StageWindow window =
        stageWindow(source.trace, moments[static_cast<std::size_t>(at)], rank);
    if (window.recorded() && window.begin_ns <= instant) break;
  }
  return moments[static_cast<std::size_t>(at)];
}

}  // namespace

GroupRank RingScene::rankSeat(WorldRank rank) const {
  const auto found = std::ranges::find(ranks, rank, &RankScene::rank);
  return found == ranks.end() ? GroupRank::none() : GroupRank::of(found - ranks.begin());
}

const RankScene& RingScene::selectedRank() const {
  return ranks.at(rankSeat(selected).index());
}

std::string RingScene::ringsText() const {
  const bool several = rings.size() > 1 &&
                       std::ranges::any_of(rings, [](const auto& ring) { return ring.size() > 1; });
  if (!several) return "";
  std::string text = std::to_string(rings.size()) + " rings: ";
  for (const auto& ring : rings)
    text += (&ring == &rings.front() ? "ranks " : " · ranks ") + listedRanks(ring);
  return text;
}

RingScene makeRingScene(const Trace& trace, const Cursor& cursor, bool live) {
  RingScene scene;
  const auto ranks = groupRanks(trace, cursor.group);
  if (trace.moments().empty() || ranks.empty() || (live && !hasWholeGroup(trace))) {
    scene.note = live ? "The run is starting; its first ring step appears here."
                 : traces::importedFrom(trace)
                     ? "No ring step is in these files. The Timeline shows them."
                     : "No ring step is recorded. Start a run, or open a trace.";
    return scene;
  }
  const GroupPass pass(trace, cursor.place, ranks);
  const Source source{trace, pass};
  scene.place = cursor.place;
  scene.axis = cursor.axis;
  scene.selected = pass.rankSeat(cursor.rank).isNone() ? ranks.front() : cursor.rank;
  scene.ring_steps = countRingSteps(trace, scene.place, ranks);
  scene.heads_shared_by = headsSharedBy(pass);
  scene.rings = ringsOf(pass);
  scene.chunk_count = pass.tooMany() ? 0 : static_cast<int>(pass.chunks().size());
  const std::int64_t instant = stageWindow(trace, scene.place, scene.selected).at(cursor.phase);
  for (const WorldRank rank : ranks) {
    const bool by_itself = cursor.axis == Axis::kTime && rank != scene.selected;
    const Place place = by_itself ? placeAt(source, scene.place, rank, instant) : scene.place;
    if (place.train_step == scene.place.train_step && place.direction == scene.place.direction) {
      scene.ranks.push_back(rankAt(source, rank, place, scene.packets));
      continue;
    }
    const GroupPass other(trace, place, ranks);  // it stands in a pass of another schedule
    scene.ranks.push_back(rankAt({trace, other}, rank, place, scene.packets));
  }
  scene.sentence = ringSentence(trace, pass, scene.selectedRank());
  return scene;
}

std::int64_t instantAt(const RingScene& scene, double phase) {
  return scene.ranks.empty() ? 0 : scene.selectedRank().window.at(phase);
}

double rankPhase(const RingScene& scene, const RankScene& rank, double phase) {
  if (scene.axis == Axis::kRingStep || rank.window.length() <= 0) return phase;
  return rank.window.fraction(instantAt(scene, phase));
}

}  // namespace ringscope::viz
