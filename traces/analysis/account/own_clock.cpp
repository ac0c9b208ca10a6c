// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/account/own_clock.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/clock/prediction.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/stopped.h"

namespace ringscope::traces {
namespace {

using Knot = ClockKnot;

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

}  // namespace

bool isLeftOut(EventKind kind) {
  return kind == EventKind::kPause || kind == EventKind::kVerify;
}

RecordedStep recordedStep(StepEvents events, const std::stop_token& stop) {
  return std::make_shared<const RecordedProgram>(recordedProgram(std::move(events), stop));
}

std::string whyNoModel(const RecordedProgram& recorded) {
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

OwnClock makeOwnClock(RecordedStep recorded, std::int32_t train_step, const Hardware& hardware,
                      const std::stop_token& stop) {
  OwnClock made;
  made.train_step = train_step;
  made.hardware = hardware;
  made.timeline = replay(recorded->program, hardware, stop);
  made.events = recorded->events;
  for (std::size_t r = 0; r < made.events.size(); ++r) {
    if (stop.stop_requested()) throw Stopped();
    for (std::size_t e = 0; e < made.events[r].size(); ++e) {
      Event& event = made.events[r][e];
      const ClockSpan& span = made.timeline.spans[r][e];
      event.begin_ns = event.start_ns = span.begin_ns;
      event.end_ns = span.end_ns;
    }
  }
  made.recorded = std::move(recorded);
  for (std::size_t r = 0; r < made.events.size(); ++r) made.knots.push_back(knotsOf(made, r));
  return made;
}

std::string describeFigure(double value) {
  if (!(value >= 1000)) return describeSignificant(value, 3);
  const double digit = std::pow(10, std::floor(std::log10(value)) - 2);
  return describeCount(std::llround(std::round(value / digit) * digit));
}

std::string describe(const Hardware& hardware) {
  const Link& link = hardware.link;
  const auto presets = linkPresets();
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
  const Floors& floors = hardware.floors;
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

}  // namespace ringscope::traces
