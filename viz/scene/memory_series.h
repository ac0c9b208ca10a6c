// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "traces/analysis/account/time_folds.h"
#include "traces/format/schema/memory_bytes.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

using traces::TimeFold;
using traces::TimeFolds;

using traces::kMemoryCategories;

/// Bytes of one rank by category, sampled at equally distant times of the run, pauses left out.
struct MemorySeries {
  std::vector<traces::BytesByCategory> columns;
  TimeFolds pauses;
  std::int64_t peak_bytes = 0;  ///< see traces::peakMemory()

  /// Returns the place of an instant, 0 to 1, in a recording that ends at `end_ns`; and the
  /// reverse.
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

/// When a rank was held at a gate. Decodes all of its events.
TimeFolds rankPauses(const traces::Trace& trace, WorldRank rank);

/// `columns` samples from time 0 to the end of the recording, of what the training step needs.
MemorySeries memorySeries(const traces::Trace& trace, WorldRank rank, std::size_t columns,
                          TimeFolds pauses = {});

}  // namespace ringscope::viz
