// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ringscope::engine {

/// What one pass over two tensors tells. Equal infinities differ by 0.
struct DifferenceTotals {
  double largest = 0;      ///< of |actual − reference|; NaN when one is not a number
  std::int64_t worst = 0;  ///< the flat index of the largest; the first of equal ones
  double sum_squares = 0;  ///< of actual − reference
  double scale = 0;        ///< the largest finite |reference|
};

}  // namespace ringscope::engine
