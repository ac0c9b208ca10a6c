// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "traces/analysis/compare/run_comparison.h"

namespace ringscope::traces {

/// |a − b|; what is equal, also both infinite or both no number, differs by 0, and where one of
/// both alone is no number by infinity.
double distance(double a, double b);

/// Adds up a tensor's difference row by row.
class RowTally {
 public:
  void add(std::span<const double> row, std::span<const double> other, const RowPlace& at,
           WorldRank rank, WorldRank other_rank);
  void leaveOut(std::int64_t rows) { found_.unmatched += rows; }
  /// `found` of all rows that were added; place and name are whoever asks'.
  TensorDifference difference() const;

 private:
  TensorDifference found_;
  double worst_ = 0;    // 2-norm of a difference
  double squares_ = 0;  // of the other run's numbers
};

}  // namespace ringscope::traces
