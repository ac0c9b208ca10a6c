// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::viz {

/// Consecutive tokens of one rank whose position ids rise by one, beside what they should be.
struct PositionRun {
  std::int64_t tokens = 0;
  std::int64_t begin = 0, end = 0;  ///< first and last recorded position id
  std::int64_t should_begin = 0;
  bool wrong = false;
};

/// The position ids that one rank's model used in one training step; empty runs: not recorded.
struct PositionRow {
  int rank = 0;
  std::vector<PositionRun> runs;
};

std::vector<PositionRow> positionRows(const traces::Trace& trace, int train_step);

/// How many recorded position ids differ from what they should be, and of how many.
std::pair<std::int64_t, std::int64_t> wrongPositions(const std::vector<PositionRow>& rows);

}  // namespace ringscope::viz
