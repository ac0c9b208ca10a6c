// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <vector>

#include "viz/maths/time_folds.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

inline constexpr std::size_t kMemoryCategories =
    static_cast<std::size_t>(traces::MemoryCategory::kCount);

/// Bytes of one rank by category, sampled at equally distant times of the run, pauses left out.
struct MemorySeries {
  std::vector<std::array<std::int64_t, kMemoryCategories>> columns;
  TimeFolds pauses;
  std::int64_t peak_bytes = 0;  ///< largest sum of the categories that are the run's own

  /// Where an instant lies, 0 to 1, in a recording that ends at `end_ns`; and the other way round.
  double fraction(std::int64_t instant_ns, std::int64_t end_ns) const {
    return static_cast<double>(pauses.folded(instant_ns)) /
           static_cast<double>(std::max<std::int64_t>(1, pauses.folded(end_ns)));
  }
  std::int64_t instantAt(double fraction, std::int64_t end_ns) const {
    return pauses.unfolded(
        static_cast<std::int64_t>(fraction * static_cast<double>(pauses.folded(end_ns))));
  }

  friend bool operator==(const MemorySeries&, const MemorySeries&) = default;
};

/// What is sampled at one instant was held together: true for the last sample of its instant.
bool endsInstant(const std::vector<traces::MemorySample>& samples, std::size_t at);

/// When a rank was held at a gate. Decodes all of its events.
TimeFolds pausesOf(const traces::Trace& trace, WorldRank rank);

/// `columns` samples from time 0 to the end of the recording. What was held for verification is
/// left out of the peak and of the columns: a run without --verify does not hold it.
MemorySeries memorySeries(const traces::Trace& trace, WorldRank rank, std::size_t columns,
                          TimeFolds pauses = {});

}  // namespace ringscope::viz
