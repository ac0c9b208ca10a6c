// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Rounds rows of `width` values, recorded in `dtype`, as products in FP8 see them. Each row is
/// rounded to e4m3 (OCP 8-bit floating point specification, E4M3) with a scale that maps its
/// largest magnitude to 448, and converted back to `dtype`. A row of zeros stays unchanged. A row
/// with a NaN has scale 1, and its values beyond e4m3 become NaN.
void roundRowsToFp8(std::span<double> rows, std::size_t width, DType dtype);

}  // namespace ringscope::traces
