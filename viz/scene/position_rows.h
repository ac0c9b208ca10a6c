// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// Consecutive tokens of one rank whose position ids rise by one, beside what they should be; where
/// that is not known they are not wrong.
struct PositionRun {
  std::int64_t tokens = 0;
  std::int64_t begin = 0, end = 0;  ///< first and last recorded position id
  std::int64_t should_begin = 0;
  bool wrong = false;

  friend bool operator==(const PositionRun&, const PositionRun&) = default;
};

/// The position ids of consecutive tokens, in global order, that one rank held.
struct HeldRun {
  std::int64_t token = 0;  ///< the first
  WorldRank rank;
  PositionRun positions;

  friend bool operator==(const HeldRun&, const HeldRun&) = default;
};

/// The position ids that one rank's model used in one training step; empty runs: not recorded.
struct PositionRow {
  WorldRank rank = WorldRank::of(0);
  std::vector<PositionRun> runs;

  friend bool operator==(const PositionRow&, const PositionRow&) = default;
};

/// The position ids of all ranks of a group, and the number of wrong ones.
struct PositionStrip {
  std::vector<PositionRow> rows;
  std::int64_t wrong = 0, all = 0;
  std::string advice;   ///< what would have recorded them
  std::string unknown;  ///< why it is not known what they should be; empty when it is

  /// Every rank's are recorded.
  bool complete() const;
  /// "✓ all 128 as they should be", and what else there is to say of them.
  std::string verdict() const;

  friend bool operator==(const PositionStrip&, const PositionStrip&) = default;
};

/// Returns the strip of the cursor's training step and group.
PositionStrip makePositionStrip(const traces::Trace& trace, const Cursor& cursor);

}  // namespace ringscope::viz
