// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/stage_window.h"

#include <algorithm>
#include <limits>

#include "traces/format/trace/trace.h"

namespace ringscope::viz {

double StageWindow::fraction(std::int64_t ns) const {
  if (end_ns <= begin_ns) return 0;
  return std::clamp(static_cast<double>(ns - begin_ns) / static_cast<double>(length()), 0.0, 1.0);
}

std::int64_t StageWindow::at(double phase) const {
  return begin_ns + static_cast<std::int64_t>(phase * static_cast<double>(length()));
}

StageWindow stageWindow(const traces::Trace& trace, const traces::Place& place, WorldRank rank) {
  StageWindow window{std::numeric_limits<std::int64_t>::max(), 0};
  for (const traces::Event& event : trace.eventsAt(place, rank)) {
    if (event.payload == traces::Payload::kDkv || event.kind == traces::EventKind::kPause) continue;
    window.begin_ns = std::min(window.begin_ns, event.begin_ns);
    window.end_ns = std::max(window.end_ns, event.end_ns);
  }
  return window.recorded() ? window : StageWindow();
}

int countRingSteps(const traces::Trace& trace, traces::Place place,
                   const std::vector<WorldRank>& ranks) {
  int steps = 0;
  for (const WorldRank rank : ranks)
    if (const auto* schedule = trace.schedule(place.train_step, rank, place.direction, place.layer))
      for (const auto& stage : schedule->stages)
        steps = std::max(steps, stage.ring_step.value() + 1);
  place.stage = RingStep::of(std::numeric_limits<RingStep::Value>::max());
  const auto& moments = trace.moments();
  const auto after = std::lower_bound(moments.begin(), moments.end(), place, traces::before);
  if (after == moments.begin()) return steps;
  const RingStep last = std::prev(after)->stage;
  Place pass = *std::prev(after);
  pass.stage = place.stage;
  return pass == place ? std::max(steps, last.value() + 1) : steps;
}

}  // namespace ringscope::viz
