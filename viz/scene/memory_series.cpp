// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/memory_series.h"

#include <limits>
#include <numeric>

#include "traces/query/trace.h"

namespace ringscope::viz {

TimeFolds pausesOf(const traces::Trace& trace, WorldRank rank) {
  std::vector<TimeFold> held;
  for (const traces::Event& event : trace.events(rank))
    if (event.kind == traces::EventKind::kPause) held.push_back({event.begin_ns, event.end_ns});
  return TimeFolds(heldByAll({held}));
}

bool endsInstant(const std::vector<traces::MemorySample>& samples, std::size_t at) {
  return at + 1 == samples.size() || samples[at + 1].time_ns != samples[at].time_ns;
}

MemorySeries memorySeries(const traces::Trace& trace, WorldRank rank, std::size_t columns,
                          TimeFolds pauses) {
  MemorySeries series;
  series.columns.resize(columns);
  series.pauses = std::move(pauses);
  std::array<std::int64_t, kMemoryCategories> now{};
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
    auto sum = [](const auto& values) {
      return std::accumulate(values.begin(), values.end(), std::int64_t{0});
    };
    for (; next < samples.size() && samples[next].time_ns <= until; ++next) {
      if (samples[next].category != traces::MemoryCategory::kVerify)
        now[static_cast<std::size_t>(samples[next].category)] = samples[next].bytes;
      // A peak inside a column stays visible.
      if (endsInstant(samples, next) && sum(now) > sum(largest)) largest = now;
    }
    series.columns[c] = largest;
    series.peak_bytes = std::max(series.peak_bytes, sum(largest));
  }
  return series;
}

}  // namespace ringscope::viz
