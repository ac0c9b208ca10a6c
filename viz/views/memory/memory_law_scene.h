// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/scene/memory_series.h"

namespace ringscope::viz {

/// The peak memory of a rank (traces::peakMemory), and what the rank was doing then.
struct MemoryPeak {
  std::int64_t bytes = 0, time_ns = 0;
  traces::BytesByCategory by_category{};
  std::string cause;  ///< "attend at step 0 › layer 1 › …; activations are 1.1 MiB of it"

  friend bool operator==(const MemoryPeak&, const MemoryPeak&) = default;
};

MemoryPeak memoryPeak(const traces::Trace& trace, WorldRank rank);

/// The effect of context parallelism on memory. Tensors along the sequence shrink as L / P.
/// Weights, gradients and optimizer state stay, because every rank keeps them whole.
struct MemoryLaw {
  int ranks = 1;             ///< of this run
  double sharded_bytes = 0;  ///< of one rank at its peak
  double replicated_bytes = 0;

  double bytesAt(double ranks_then) const {
    return replicated_bytes + sharded_bytes * ranks / ranks_then;
  }

  friend bool operator==(const MemoryLaw&, const MemoryLaw&) = default;
};

MemoryLaw memoryLaw(const MemoryPeak& peak, int ranks);

}  // namespace ringscope::viz
