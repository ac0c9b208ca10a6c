// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// A run of consecutive tokens of one rank whose position ids rise by one.
struct PositionRun {
  std::int64_t tokens = 0;           ///< number of tokens
  std::int64_t first = 0, last = 0;  ///< recorded position ids of the first and the last token
  std::int64_t expected_first = 0;   ///< equals `first` if the expected ids are unknown
  bool wrong = false;                ///< differs from the expected ids; false if they are unknown

  friend bool operator==(const PositionRun&, const PositionRun&) = default;
};

/// A run in one of two compared recordings, at its place in the sequence. `positions.wrong` means
/// that it differs from the other recording.
struct HeldRun {
  std::int64_t token = 0;  ///< global index of the first token
  WorldRank rank;
  PositionRun positions;

  friend bool operator==(const HeldRun&, const HeldRun&) = default;
};

/// The position ids that one rank's model used in one training step, for the first sequence of the
/// batch. `runs` is empty if they were not recorded.
struct PositionRow {
  WorldRank rank = WorldRank::of(0);
  std::vector<PositionRun> runs;

  friend bool operator==(const PositionRow&, const PositionRow&) = default;
};

/// The position ids of all ranks of a group, for the first sequence of the batch.
struct PositionStrip {
  std::vector<PositionRow> rows;
  std::int64_t wrong = 0, all = 0;  ///< number of wrong and of recorded position ids
  std::string advice;               ///< how to record missing position ids
  std::string unknown;              ///< why the expected ids are unknown; empty if they are known

  /// Reports whether the position ids of every rank were recorded; false for an empty strip.
  bool complete() const;
  /// Returns a verdict such as "✓ all 128 as they should be". It also names ranks that are missing.
  std::string verdict() const;

  friend bool operator==(const PositionStrip&, const PositionStrip&) = default;
};

/// Returns the strip of the cursor's training step and group.
PositionStrip makePositionStrip(const traces::Trace& trace, const Cursor& cursor);

}  // namespace ringscope::viz
