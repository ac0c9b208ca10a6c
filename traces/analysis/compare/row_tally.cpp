// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/row_tally.h"

#include <cmath>
#include <limits>

namespace ringscope::traces {
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

void RowTally::add(std::span<const double> row, std::span<const double> other, const RowPlace& at,
                   WorldRank rank, WorldRank other_rank) {
  double error = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    error = std::hypot(error, distance(row[i], other[i]));
    if (std::isfinite(other[i])) squares_ += other[i] * other[i];
  }
  ++found_.rows;
  if (!(error > 0)) return;
  ++found_.differing;
  if (!(error > worst_)) return;
  worst_ = error;
  found_.at = at;
  found_.rank = rank;
  found_.other = other_rank;
}

TensorDifference RowTally::difference() const {
  TensorDifference found = found_;
  if (worst_ == 0) return found;
  const double size = std::sqrt(squares_ / static_cast<double>(found.rows));
  found.worst = size > 0 ? worst_ / size : std::numeric_limits<double>::infinity();
  return found;
}

}  // namespace ringscope::traces
