// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/own_clock_scene.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/clock/prediction.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/stopped.h"
#include "viz/scene/units.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;

namespace {

using Knot = ClockKnot;

bool isLeftOut(EventKind kind) {
  return kind == EventKind::kPause || kind == EventKind::kVerify;
}
bool isTransfer(EventKind kind) {
  return kind == EventKind::kSend || kind == EventKind::kReceive;
}

std::vector<Knot> knotsOf(const OwnClock& clock, std::size_t r) {
  std::vector<Knot> knots;
  for (std::size_t e = 0; e < clock.events[r].size(); ++e) {
    const Event& run = clock.recorded->events[r][e];
    const Event& model = clock.events[r][e];
    if (isTransfer(run.kind) || isLeftOut(run.kind)) continue;
    knots.push_back({static_cast<double>(run.begin_ns), static_cast<double>(model.begin_ns)});
    knots.push_back({static_cast<double>(run.end_ns), static_cast<double>(model.end_ns)});
  }
  std::ranges::stable_sort(knots, {}, &Knot::run_ns);
  double latest = 0;
  for (Knot& knot : knots) latest = knot.axis_ns = std::max(latest, knot.axis_ns);
  return knots;
}

const std::vector<Knot>& knotsFor(const OwnClock& clock, WorldRank rank) {
  static const std::vector<Knot> kNone;
  return rank.exists() && rank.index() < clock.knots.size() ? clock.knots[rank.index()] : kNone;
}

double between(const std::vector<Knot>& knots, double at, double Knot::*from, double Knot::*to) {
  if (knots.empty()) return 0;
  const auto after = std::ranges::lower_bound(knots, at, {}, from);
  if (after == knots.begin()) return knots.front().*to;
  if (after == knots.end()) return knots.back().*to;
  const Knot& before = *std::prev(after);
  const double length = (*after).*from - before.*from;
  return before.*to + ((*after).*to - before.*to) * (length > 0 ? (at - before.*from) / length : 0);
}

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

RecordedStep recordedStep(traces::StepEvents events, const std::stop_token& stop) {
  return std::make_shared<const traces::RecordedProgram>(
      traces::recordedProgram(std::move(events), stop));
}

std::string whyNoModel(const traces::RecordedProgram& recorded) {
  std::string words;
  for (const std::string& lack : recorded.lacks) words += (words.empty() ? "" : "; ") + lack;
  return words.empty() ? words : "There is no model of this step with own devices: " + words + ".";
}

double OwnClock::modelled(WorldRank rank, std::int64_t run_ns) const {
  return between(knotsFor(*this, rank), static_cast<double>(run_ns), &Knot::run_ns, &Knot::axis_ns);
}

std::int64_t OwnClock::recordedAt(WorldRank rank, double axis_ns) const {
  return std::llround(between(knotsFor(*this, rank), axis_ns, &Knot::axis_ns, &Knot::run_ns));
}

std::shared_ptr<const OwnClock> makeOwnClock(RecordedStep recorded, std::int32_t train_step,
                                             const traces::Hardware& hardware,
                                             const std::stop_token& stop) {
  auto clock = std::make_shared<OwnClock>();
  clock->train_step = train_step;
  clock->hardware = hardware;
  clock->timeline = traces::replay(recorded->program, hardware, stop);
  clock->events = recorded->events;
  TracksBuilder builder;
  for (std::size_t r = 0; r < clock->events.size(); ++r) {
    if (stop.stop_requested()) throw traces::Stopped();
    for (std::size_t e = 0; e < clock->events[r].size(); ++e) {
      Event& event = clock->events[r][e];
      const traces::ClockSpan& span = clock->timeline.spans[r][e];
      event.begin_ns = event.start_ns = span.begin_ns;
      event.end_ns = span.end_ns;
      if (!isLeftOut(event.kind)) builder.take(event);
    }
  }
  clock->tracks = builder.finish(false);
  clock->recorded = std::move(recorded);
  for (std::size_t r = 0; r < clock->events.size(); ++r) clock->knots.push_back(knotsOf(*clock, r));
  return clock;
}

std::vector<Event> eventsOf(const OwnClock& clock, const SpanPlace& at) {
  std::vector<Event> found;
  findEvents(clock, at, [&](std::size_t e) { found.push_back(clock.events[at.rank.index()][e]); });
  return found;
}

std::optional<Event> eventOf(const OwnClock& clock, const SpanPlace& at) {
  const std::vector<Event> events = eventsOf(clock, at);
  return events.empty() ? std::nullopt : std::optional(events.front());
}

SpanDetails detailsOf(const OwnClock& clock, const SpanPlace& at) {
  std::optional<std::size_t> index;
  findEvents(clock, at, [&](std::size_t e) { index = index.value_or(e); });
  if (!index) return {};
  const std::size_t r = at.rank.index();
  SpanDetails details = detailsOf(clock.recorded->events[r][*index]);
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

std::string describeFigure(double value) {
  if (!(value >= 1000)) return traces::describeSignificant(value, 3);
  const double digit = std::pow(10, std::floor(std::log10(value)) - 2);
  return traces::describeCount(std::llround(std::round(value / digit) * digit));
}

std::string describe(const traces::Hardware& hardware) {
  const traces::Link& link = hardware.link;
  const auto presets = traces::linkPresets();
  const bool known =
      std::ranges::any_of(presets, [&](const auto& preset) { return preset.value == link; });
  std::string words = link.name;
  if (!known)
    words = "a link of " +
            (link.gigabytes_per_second == 0 ? "endless bandwidth"
                                            : describeFigure(link.gigabytes_per_second) + " GB/s") +
            " and " + describeFigure(link.latency_us) + " µs";
  if (!hardware.overlap) words += " without overlap";
  std::vector<std::string> parts;
  const std::string scale = "compute ×" + describeFigure(hardware.compute_scale);
  if (hardware.device)
    parts.push_back(hardware.device->name + " at " +
                    describeFigure(100 * hardware.device->efficiency) + " % of its peak (" + scale +
                    ")");
  else if (hardware.compute_scale != 1)
    parts.push_back(scale);
  const traces::Floors& floors = hardware.floors;
  const auto least = [](double us, const char* per) {
    return describeFigure(us) + " µs per " + per;
  };
  if (floors.kernel_us > 0 && floors.collective_us > 0)
    parts.push_back("at least " + least(floors.kernel_us, "kernel") + " and " +
                    least(floors.collective_us, "transfer"));
  else if (floors.kernel_us > 0)
    parts.push_back("at least " + least(floors.kernel_us, "kernel"));
  else if (floors.collective_us > 0)
    parts.push_back("at least " + least(floors.collective_us, "transfer"));
  for (const std::string& part : parts) words += ", " + part;
  return parts.empty() ? words : words + ",";
}

}  // namespace ringscope::viz
