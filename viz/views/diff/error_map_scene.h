// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// kLimit: the error of a row ÷ its limit, above 1 it is wrong. The others: the largest element.
enum class ErrorUnit { kLimit, kAbsolute, kRelative, kUlp };

/// Consecutive positions of the sequence that one rank owns.
struct OwnedSpan {
  std::int64_t begin = 0, end = 0;
  WorldRank rank = WorldRank::of(0);

  friend bool operator==(const OwnedSpan&, const OwnedSpan&) = default;
};

/// The error of each (head, position) of one tensor, isolated, against fp64: the largest over the
/// sequences of all dp ranks, with the heads of all tp ranks.
struct ErrorMap {
  std::int64_t heads = 0, positions = 0;
  std::vector<double> values;  ///< row by head
  std::vector<OwnedSpan> owners;
  std::string missing;  ///< where it is not recorded: what would show it, a clause

  friend bool operator==(const ErrorMap&, const ErrorMap&) = default;
};

/// Makes the map of the cursor's training step, layer and tensor. The owners are the ranks of the
/// cursor's group.
ErrorMap makeErrorMap(const traces::Trace& trace, const Cursor& cursor, ErrorUnit unit);

/// Counts the values per bin. The bins go from a tenth of `unit` to ten to the `decades` of `unit`,
/// and are equally wide in the logarithm. Smaller values count in the first bin, larger ones in the
/// last.
std::vector<std::int64_t> logHistogram(const std::vector<double>& values, double unit, int decades,
                                       int bins_a_decade);

/// The direction in which attention has this tensor.
traces::Direction tensorDirection(const std::string& tensor);

}  // namespace ringscope::viz
