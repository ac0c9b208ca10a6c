// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/memory_series.h"

#include <limits>

#include "traces/format/trace/peak_memory.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

TimeFolds rankPauses(const traces::Trace& trace, WorldRank rank) {
  std::vector<TimeFold> held;
  for (const traces::Event& event : trace.events(rank))
    if (event.kind == traces::EventKind::kPause) held.push_back({event.begin_ns, event.end_ns});
  return TimeFolds(traces::heldByAll({held}));
}

MemorySeries memorySeries(const traces::Trace& trace, WorldRank rank, std::size_t columns,
                          TimeFolds pauses) {
  MemorySeries series;
  series.columns.resize(columns);
  series.pauses = std::move(pauses);
  traces::HeldMemory now;
  const auto& samples = trace.memory(rank);
  std::size_t next = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    // The last column takes what was sampled after the last event, too.
    const auto until =
        c + 1 == columns
            ? std::numeric_limits<std::int64_t>::max()
            : series.instantAt(static_cast<double>(c + 1) / static_cast<double>(columns),
                               trace.endNs());
    auto largest = now;
    for (; next < samples.size() && samples[next].time_ns <= until; ++next) {
      now.take(samples[next]);
      // A peak inside a column stays visible.
      if (traces::endsInstant(samples, next) && now.total() > largest.total()) largest = now;
    }
    series.columns[c] = largest.byCategory();
    series.peak_bytes = std::max(series.peak_bytes, largest.total());
  }
  return series;
}

}  // namespace ringscope::viz
