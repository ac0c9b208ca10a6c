// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ringscope::engine {

struct Quantised {
  at::Tensor values;  ///< e4m3, shaped as what was quantised
  at::Tensor scales;  ///< fp32, last dimension 1
};
/// A scale for each row (the last dimension) such that its largest element becomes 448, the largest
/// e4m3 number; a row of zeros has scale 1.
Quantised quantiseRows(const at::Tensor& x);

/// x as e4m3 can hold it, with a scale for each row (the last dimension) such that the largest
/// element becomes 448, in x's own type: what FP8 products compute with.
at::Tensor roundedToFp8(const at::Tensor& x);

}  // namespace ringscope::engine
