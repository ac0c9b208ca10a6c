// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/run_summary_scene.h"

#include <cmath>
#include <limits>
#include <vector>

#include "traces/analysis/diff/summary.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/chunks.h"
#include "viz/scene/units.h"
#include "viz/views/coverage/coverage_scene.h"

namespace ringscope::viz {

RunSummary runSummary(const traces::Trace& trace, int train_step) {
  RunSummary summary;
  summary.train_step = train_step;
  std::vector<double> work;
  // Backward visits layers in reverse, and what is outside of them last.
  const Place first{train_step, Layer::none(), traces::Direction::kForward, RingStep::none()};
  const Place last{train_step, Layer::none(), traces::Direction::kBackward,
                   RingStep::of(std::numeric_limits<RingStep::Value>::max())};
  for (int i = 0; i < trace.worldSize(); ++i) {
    const WorldRank rank = WorldRank::of(i);
    for (const traces::Event& event : trace.eventsAt(first, last, rank)) {
      if (event.kind == traces::EventKind::kAttend) summary.attend_ns += event.duration();
      if (event.kind == traces::EventKind::kWait) summary.wait_ns += event.duration();
      if (event.kind == traces::EventKind::kSend) summary.sent_bytes += event.bytes;
    }
    if (const auto* schedule = trace.schedule(train_step, rank, traces::Direction::kForward))
      work.push_back(pairsPerHead(*schedule));
  }
  if (!work.empty() && std::ssize(work) == trace.worldSize())
    summary.balance = traces::balanceFrom(work);
  const traces::DiffRecord* worst = nullptr;
  for (const auto& diff : trace.diffs())
    if (diff.place.train_step == train_step) traces::keepWorse(worst, diff);
  if (worst) {
    summary.worst_ratio = worst->ratio;
    summary.worst_where = traces::describe(*worst);
  }
  return summary;
}

std::string describe(const RunSummary& s) {
  std::string words = s.worst_ratio ? std::string(*s.worst_ratio <= 1 ? "✓ " : "▲ ") + "worst " +
                                          traces::describeMultiple(*s.worst_ratio) + " limit (" +
                                          s.worst_where + ")"
                                    : "not compared";
  return "step " + std::to_string(s.train_step) + ": " + words + " · attends " +
         describeDuration(s.attend_ns) + ", waits " + describeDuration(s.wait_ns) + " · sends " +
         describeBytes(s.sent_bytes) + " · balance " +
         (s.balance ? std::to_string(std::lround(*s.balance * 100)) + " %" : "not recorded");
}

}  // namespace ringscope::viz
