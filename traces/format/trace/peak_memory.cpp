// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/peak_memory.h"

#include <numeric>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

void HeldMemory::take(const MemorySample& sample) {
  if (sample.category != MemoryCategory::kVerify)
    bytes_[static_cast<std::size_t>(sample.category)] = sample.bytes;
}

std::int64_t HeldMemory::total() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), std::int64_t{0});
}

bool endsInstant(const std::vector<MemorySample>& samples, std::size_t at) {
  return at + 1 == samples.size() || samples[at + 1].time_ns != samples[at].time_ns;
}

PeakMemory peakMemory(const Trace& trace, WorldRank rank) {
  PeakMemory peak;
  HeldMemory held;
  const auto& samples = trace.memory(rank);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    held.take(samples[i]);
    if (endsInstant(samples, i) && held.total() > peak.bytes)
      peak = {held.total(), samples[i].time_ns, held.byCategory()};
  }
  return peak;
}

}  // namespace ringscope::traces
