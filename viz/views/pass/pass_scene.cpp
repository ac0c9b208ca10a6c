// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/pass/pass_scene.h"

#include <algorithm>
#include <limits>

#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;

namespace {

bool isBar(EventKind kind) {
  return kind == EventKind::kAttend || kind == EventKind::kMerge || kind == EventKind::kWait ||
         kind == EventKind::kPause;
}

GroupRank rankSeat(const std::vector<WorldRank>& ranks, WorldRank rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? GroupRank::none() : GroupRank::of(found - ranks.begin());
}

void take(PassScene& scene, const Event& event, GroupRank seat,
          const std::vector<WorldRank>& ranks) {
  scene.begin_ns = std::min(scene.begin_ns, event.begin_ns);
  scene.end_ns = std::max(scene.end_ns, event.end_ns);
  if (isBar(event.kind))
    scene.bars.push_back({seat, event.kind, event.source_rank, event.begin_ns, event.end_ns});
  if (event.kind == EventKind::kSend)
    scene.flows.push_back({seat, rankSeat(ranks, event.peer), event.source_rank,
                           event.payload == traces::Payload::kDkv, event.start_ns, event.end_ns});
}

TimeFolds pausesIn(const PassScene& scene) {
  std::vector<std::vector<TimeFold>> held(scene.lanes.size());
  for (const PassBar& bar : scene.bars)
    if (bar.kind == EventKind::kPause) held[bar.seat.index()].push_back({bar.begin_ns, bar.end_ns});
  return TimeFolds(heldByAll(held));
}

}  // namespace

std::int64_t PassScene::instantAt(RingStep ring_step, double phase) const {
  const auto lane = std::ranges::find(lanes, selected, &PassLane::rank);
  if (lane == lanes.end() || ring_step.isNone() || ring_step.index() >= lane->stages.size())
    return 0;
  return lane->stages[ring_step.index()].at(phase);
}

PassScene makePassScene(const traces::Trace& trace, const Cursor& cursor) {
  PassScene scene;
  const auto ranks = groupRanks(trace, cursor.group);
  for (const WorldRank rank : ranks) scene.lanes.push_back({rank, {}});
  scene.selected =
      ranks.empty() || rankSeat(ranks, cursor.rank).exists() ? cursor.rank : ranks.front();
  scene.pass = cursor.place;
  scene.pass.stage = RingStep::of(0);
  if (trace.moments().empty()) return scene;
  scene.begin_ns = std::numeric_limits<std::int64_t>::max();
  const int steps = countRingSteps(trace, cursor.place, ranks);
  for (Place place = scene.pass; place.stage.value() < steps; place.stage = place.stage.next())
    for (std::size_t seat = 0; seat < ranks.size(); ++seat) {
      scene.lanes[seat].stages.push_back(stageWindow(trace, place, ranks[seat]));
      for (const traces::Event& event : trace.eventsAt(place, ranks[seat]))
        take(scene, event, GroupRank::of(seat), ranks);
    }
  scene.pauses = pausesIn(scene);
  if (scene.end_ns <= scene.begin_ns) scene.begin_ns = scene.end_ns = 0;
  return scene;
}

}  // namespace ringscope::viz
