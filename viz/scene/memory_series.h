// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <vector>

#include "viz/scene/data.h"

namespace ringscope::viz {

inline constexpr std::size_t kMemoryCategories =
    static_cast<std::size_t>(traces::MemoryCategory::kCount);

/// Bytes of one rank by category, sampled at equally distant times of the run.
struct MemorySeries {
  std::vector<std::array<std::int64_t, kMemoryCategories>> columns;
  std::int64_t peak_bytes = 0;  ///< largest sum of the categories that are the run's own

  friend bool operator==(const MemorySeries&, const MemorySeries&) = default;
};

/// What is sampled at one instant was held together: true for the last sample of its instant.
bool endsInstant(const std::vector<traces::MemorySample>& samples, std::size_t at);

/// `columns` samples from time 0 to the end of the recording. What was held for verification is
/// left out of the peak and of the columns: a run without --verify does not hold it.
MemorySeries memorySeries(const traces::Trace& trace, WorldRank rank, std::size_t columns);

}  // namespace ringscope::viz
