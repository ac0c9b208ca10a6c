// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ringscope::engine {

struct Quantised {
  at::Tensor values;  ///< e4m3, shaped like the input
  at::Tensor scales;  ///< fp32, last dimension 1
};
/// Quantises each row (the last dimension) with a scale that maps its largest magnitude to 448, the
/// largest e4m3 number. A row of zeros has scale 1.
Quantised quantiseRows(const at::Tensor& x);

/// Returns x rounded to e4m3 with one scale per row, in x's own type. FP8 products compute with
/// these values.
at::Tensor roundedToFp8(const at::Tensor& x);

}  // namespace ringscope::engine
