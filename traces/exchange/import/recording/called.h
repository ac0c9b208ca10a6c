// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "traces/exchange/import/recording/rank_file.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// What attention attended. Of a mask in numbers, or of a function that was not asked, it is not
/// known.
struct AttendedMask {
  std::optional<MaskKind> kind;
  std::int64_t window = 0;  ///< keys that a query sees, itself too; of a window

  bool operator==(const AttendedMask&) const = default;
};

/// What every recorded attention was called with, as far as all agree.
struct Called {
  bool any = false, recomputed = false;
  bool ring = false;       ///< over the ranks of a group
  bool annotated = false;  ///< computed by the job itself
  double dropout = 0;
  AttendedMask mask;
  std::optional<Line> first;
};

/// Of a rank's forward attention.
Called calledWith(const RankLines& rank);

}  // namespace ringscope::traces
