// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/memory/memory_law_scene.h"

#include <algorithm>

#include "traces/format/trace/peak_memory.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

using traces::MemoryCategory;

bool isReplicated(MemoryCategory category) {
  return category == MemoryCategory::kWeights || category == MemoryCategory::kGradients ||
         category == MemoryCategory::kOptimizer;
}

/// Names the rank's work at its peak, or its last work before, and the largest category that is not
/// replicated on every rank.
std::string describeCause(const traces::Trace& trace, WorldRank rank, const MemoryPeak& peak) {
  std::optional<traces::Event> doing;
  for (const traces::Event& event : trace.events(rank))
    if (event.begin_ns <= peak.time_ns && (!doing || event.begin_ns >= doing->begin_ns) &&
        event.kind != traces::EventKind::kSend && event.kind != traces::EventKind::kReceive)
      doing = event;
  std::size_t largest = static_cast<std::size_t>(MemoryCategory::kOther);
  for (std::size_t c = 0; c < kMemoryCategories; ++c)
    if (!isReplicated(static_cast<MemoryCategory>(c)) &&
        peak.by_category[c] > peak.by_category[largest])
      largest = c;
  std::string words;
  if (doing)
    words = std::string(doing->end_ns < peak.time_ns ? "after " : "") + traces::name(doing->kind) +
            " at " + traces::describe(doing->place) + "; ";
  return words + traces::name(static_cast<MemoryCategory>(largest)) + " are " +
         describeBytes(peak.by_category[largest]) + " of it";
}

}  // namespace

MemoryPeak memoryPeak(const traces::Trace& trace, WorldRank rank) {
  const traces::PeakMemory most = traces::peakMemory(trace, rank);
  MemoryPeak peak{most.bytes, most.time_ns, most.by_category, {}};
  if (peak.bytes > 0) peak.cause = describeCause(trace, rank, peak);
  return peak;
}

MemoryLaw memoryLaw(const MemoryPeak& peak, int ranks) {
  MemoryLaw law{ranks, 0, 0};
  for (std::size_t c = 0; c < kMemoryCategories; ++c)
    (isReplicated(static_cast<MemoryCategory>(c)) ? law.replicated_bytes : law.sharded_bytes) +=
        static_cast<double>(peak.by_category[c]);
  return law;
}

}  // namespace ringscope::viz
