// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// The errors of n independent roundings of unit roundoff u stay below λ·√n·u with a probability of
/// at least 1 − 2n·exp(−λ²/2) (Higham and Mary 2019).
inline constexpr double kRoundingLambda = 6;

/// Returns half the distance from 1 to the next number of a floating type; 0 for an integer type.
double unitRoundoff(DType dtype);

/// Reports whether a floating type is narrower than fp32. Kernels for such types sum in fp32.
bool isNarrow(DType dtype);

/// Returns half the smallest distance of two numbers of a type, by which a number that is rounded
/// to 0 is off.
double halfOfSmallest(DType dtype);

/// Returns the mean square of the error of a row that is stored in a type. The error is uniform
/// over half a unit in the last place of each number.
double storingSquare(std::span<const double> row, DType dtype);

}  // namespace ringscope::traces
