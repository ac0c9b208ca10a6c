// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ringscope::engine {

/// Rows of single numbers: lse, a vector, a scalar. Others' rows are their last dimension.
bool isOfNumbers(const at::Tensor& t);

/// How two tensors of one shape differ, row by row. Equal infinities differ by 0.
struct RowDifferences {
  at::Tensor errors;   ///< 2-norms of actual − reference, fp64, shaped as the rows
  at::Tensor norms;    ///< 2-norms of the reference, likewise
  double largest = 0;  ///< |actual − reference|; NaN where one is not a number
};

/// actual: any floating type; reference: fp64, on the same device. One pass where that is the CPU.
RowDifferences rowDifferences(const at::Tensor& actual, const at::Tensor& reference);

/// The same by operators of ATen, which serve any device.
RowDifferences rowDifferencesByOperators(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ringscope::engine
