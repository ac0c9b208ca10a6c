// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "traces/analysis/compare/run_comparison.h"

namespace ringscope::traces {

/// Returns |a − b|. Equal values, two equal infinities and two NaN differ by 0; a NaN and a number
/// differ by infinity.
double distance(double a, double b);

/// A sum of a tensor's difference, row by row.
class RowTally {
 public:
  void add(std::span<const double> row, std::span<const double> other, const RowPlace& at,
           WorldRank rank, WorldRank other_rank);
  void leaveOut(std::int64_t rows) { found_.unmatched += rows; }
  /// Returns the difference over all rows added. The caller sets its place and name.
  TensorDifference difference() const;

 private:
  TensorDifference found_;
  double worst_ = 0;    // largest 2-norm of a row's difference
  double squares_ = 0;  // sum over the other run's values
};

}  // namespace ringscope::traces
