// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/memory_bytes.h"

namespace ringscope::traces {
class Trace;

/// Adds up what one rank holds, sample by sample in the order of recording. Only what the training
/// step needs is counted: MemoryCategory::kVerify is left out.
class HeldMemory {
 public:
  void take(const MemorySample& sample);
  const BytesByCategory& byCategory() const { return bytes_; }
  /// The sum over all categories.
  std::int64_t total() const;

 private:
  BytesByCategory bytes_{};
};

/// Whether the sample is the last of its time. All samples of one time were held together.
bool endsInstant(const std::vector<MemorySample>& samples, std::size_t at);

/// The peak memory of a rank: the most that its training steps needed at once, in bytes.
struct PeakMemory {
  std::int64_t bytes = 0;
  std::int64_t time_ns = 0;
  BytesByCategory by_category{};
};

/// Of the whole recording. Zero bytes: the rank recorded no memory.
PeakMemory peakMemory(const Trace& trace, WorldRank rank);

}  // namespace ringscope::traces
