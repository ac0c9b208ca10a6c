// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/memory_bytes.h"

namespace ringscope::traces {
class Trace;

/// The memory that one rank holds, summed sample by sample in the order of recording. Counts only
/// what the training step needs: MemoryCategory::kVerify is left out.
class HeldMemory {
 public:
  void take(const MemorySample& sample);
  const BytesByCategory& byCategory() const { return bytes_; }
  /// Returns the sum over all categories, in bytes.
  std::int64_t total() const;

 private:
  BytesByCategory bytes_{};
};

/// Reports whether the sample is the last one of its time. All samples of one time count together.
bool endsInstant(const std::vector<MemorySample>& samples, std::size_t at);

/// The peak memory of a rank: the largest number of bytes that its training steps needed at once.
struct PeakMemory {
  std::int64_t bytes = 0;
  std::int64_t time_ns = 0;
  BytesByCategory by_category{};
};

/// Returns the peak over the whole recording. Zero bytes: the rank recorded no memory.
PeakMemory peakMemory(const Trace& trace, WorldRank rank);

}  // namespace ringscope::traces
