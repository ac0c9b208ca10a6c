// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Rows of `width` values that were recorded in `dtype`, as products in FP8 have them: rounded to
/// e4m3 (OCP 8-bit floating point specification, E4M3) with a scale for each row that makes its
/// largest 448, and back in `dtype`. A row of zeros stays; one with a NaN has scale 1, and what
/// e4m3 cannot hold then is NaN too.
void roundRowsToFp8(std::span<double> rows, std::size_t width, DType dtype);

}  // namespace ringscope::traces
