// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ringscope::engine {

/// Half the smallest distance of two numbers of a type: what is rounded to 0 is off by as much.
double halfOfSmallest(at::ScalarType type);

/// What storing in a type is to add to the squares of rows' errors, [..., D] to [...]: its error is
/// uniform over half a unit in the last place of each number.
at::Tensor storingSquares(const at::Tensor& exact, at::ScalarType type);

}  // namespace ringscope::engine
