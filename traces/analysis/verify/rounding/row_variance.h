// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ringscope::traces {

/// The mean squares of the 2-norms of the rounding errors that one row of a tensor may have.
struct RowVariance {
  double spread = 0;   ///< of errors that are independent from element to element of the row
  double terms = 0;    ///< of errors of many numbers, each times a vector: stored weights
  double single = 0;   ///< of errors that are few numbers times a vector: a weight's, delta's
  double merging = 0;  ///< the part that merges add to `single`; a single device does not show it
  double tiles = 0;    ///< the part of `spread` that is of the size of each element
  double adding = 0;   ///< the part that merges and sums over ranks add to `spread`; a single
                       ///< device does not show it
};

/// All rows of one tensor, in row-major order.
struct TensorVariance {
  std::vector<RowVariance> rows;
  double bounded = 0;  ///< largest size of an error of its own kind, the same for all rows; no
                       ///< square
  /// Reports whether every mean square is a number.
  bool isComparable() const;
};

/// The tensors of one attention. `dq`, `dk` and `dv` are empty without dout.
struct AttentionVariance {
  TensorVariance out, lse, dq, dk, dv;
};

/// Returns the largest 2-norm of the error of a row of `width` numbers that rounding explains.
/// `slack` multiplies it. `factor` multiplies the mean squares that a single device shows.
double rowLimit(const RowVariance& row, double bounded, std::int64_t width, double slack = 1,
                double factor = 1);

}  // namespace ringscope::traces
