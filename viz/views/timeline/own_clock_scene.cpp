// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/own_clock_scene.h"

#include <algorithm>

#include "traces/analysis/clock/prediction.h"
#include "traces/format/core/stopped.h"
#include "viz/scene/units.h"

namespace ringscope::viz {

using traces::Event;

namespace {

/// Calls `take(index)` for each of the rank's events that a stretch may be.
template <typename Take>
void findEvents(const OwnClock& clock, const SpanPlace& at, Take take) {
  if (!at.exists() || at.rank.index() >= clock.events.size()) return;
  const std::vector<Event>& events = clock.events[at.rank.index()];
  for (std::size_t e = 0; e < events.size(); ++e) {
    const Event& event = events[e];
    if (event.begin_ns == at.span.begin_ns && event.end_ns == at.span.end_ns &&
        static_cast<std::uint8_t>(event.kind) == at.span.kind &&
        static_cast<std::uint8_t>(event.payload) == at.span.payload &&
        event.source_rank.value() == at.span.source && event.peer.value() == at.span.peer_index)
      take(e);
  }
}

}  // namespace

std::shared_ptr<const OwnClock> makeDrawnOwnClock(RecordedStep recorded, std::int32_t train_step,
                                                  const traces::Hardware& hardware,
                                                  const std::stop_token& stop) {
  auto clock = std::make_shared<OwnClock>(
      OwnClock{traces::makeOwnClock(std::move(recorded), train_step, hardware, stop), nullptr});
  TracksBuilder builder;
  for (const std::vector<Event>& events : clock->events) {
    if (stop.stop_requested()) throw traces::Stopped();
    for (const Event& event : events)
      if (!traces::isLeftOut(event.kind)) builder.take(event);
  }
  clock->tracks = builder.finish(false);
  return clock;
}

std::vector<Event> spanEvents(const OwnClock& clock, const SpanPlace& at) {
  std::vector<Event> found;
  findEvents(clock, at, [&](std::size_t e) { found.push_back(clock.events[at.rank.index()][e]); });
  return found;
}

std::optional<Event> spanEvent(const OwnClock& clock, const SpanPlace& at) {
  const std::vector<Event> events = spanEvents(clock, at);
  return events.empty() ? std::nullopt : std::optional(events.front());
}

SpanDetails spanDetails(const OwnClock& clock, const SpanPlace& at) {
  std::optional<std::size_t> index;
  findEvents(clock, at, [&](std::size_t e) { index = index.value_or(e); });
  if (!index) return {};
  const std::size_t r = at.rank.index();
  SpanDetails details = spanDetails(clock.recorded->events[r][*index]);
  const Event& model = clock.events[r][*index];
  for (auto& [what, value] : details.rows)
    if (what == "wall time") what = "recorded wall time";
  std::erase_if(details.rows, [](const auto& row) {
    return row.first == "posted before it moved" || row.first == "while it moved";
  });
  std::vector<std::pair<std::string, std::string>> rows = {
      {"axis", traces::kModelLabel}, {"by the model", describeDuration(model.duration())}};
  const auto cost = std::ranges::find_if(clock.timeline.waits, [&](const traces::WaitCost& wait) {
    return wait.rank == at.rank && wait.event == *index;
  });
  if (cost != clock.timeline.waits.end()) {
    rows.emplace_back("under way", describeDuration(cost->under_way_ns));
    rows.emplace_back("hidden under work", describeDuration(cost->hidden_ns));
    rows.emplace_back("exposed", describeDuration(cost->exposed_ns));
    if (cost->late_ns > 0)
      rows.emplace_back("of that for a late peer", describeDuration(cost->late_ns));
  }
  details.rows.insert(details.rows.begin(), rows.begin(), rows.end());
  return details;
}

SpanPlace sameSpan(const OwnClock& before, const OwnClock& now, const SpanPlace& at) {
  SpanPlace place;
  if (before.recorded != now.recorded) return place;
  findEvents(before, at, [&](std::size_t e) {
    if (place.exists()) return;
    place = at;
    place.span.begin_ns = now.events[at.rank.index()][e].begin_ns;
    place.span.end_ns = now.events[at.rank.index()][e].end_ns;
  });
  return place;
}

}  // namespace ringscope::viz
