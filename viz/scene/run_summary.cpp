// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/run_summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "traces/diff/summary.h"
#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

RunSummary runSummary(const traces::Trace& trace, int train_step) {
  RunSummary summary;
  std::int64_t most = 0;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    std::int64_t attended = 0;
    for (const traces::Event& event : trace.events(rank)) {
      if (event.place.train_step != train_step) continue;
      if (event.kind == traces::EventKind::kAttend) attended += event.duration();
      if (event.kind == traces::EventKind::kWait) summary.wait_ns += event.duration();
      if (event.kind == traces::EventKind::kSend) summary.sent_bytes += event.bytes;
    }
    summary.attend_ns += attended;
    most = std::max(most, attended);
  }
  if (most > 0)
    summary.balance =
        static_cast<double>(summary.attend_ns) / static_cast<double>(most) / trace.worldSize();
  for (const auto& diff : trace.diffs())
    if (diff.place.train_step == train_step &&
        (!summary.worst_multiple || !(diff.multiple <= *summary.worst_multiple))) {
      summary.worst_multiple = diff.multiple;
      summary.worst_where = traces::describe(diff);
    }
  return summary;
}

std::string describe(const RunSummary& s) {
  std::string words = s.worst_multiple
                          ? std::string(*s.worst_multiple <= traces::kNoiseLimit ? "✓ " : "▲ ") +
                                "worst " + traces::describeMultiple(*s.worst_multiple) +
                                " noise (" + s.worst_where + ")"
                          : "not compared";
  return words + " · attends " + describeDuration(s.attend_ns) + ", waits " +
         describeDuration(s.wait_ns) + " · sends " + describeBytes(s.sent_bytes) + " · balance " +
         std::to_string(std::lround(s.balance * 100)) + " %";
}

}  // namespace ringscope::viz
