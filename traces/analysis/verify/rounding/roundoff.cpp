// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/rounding/roundoff.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ringscope::traces {
namespace {

double smallestNormal(DType dtype) {
  return dtype == DType::kFloat16 ? 0x1p-14 : dtype == DType::kFloat64 ? 0x1p-1022 : 0x1p-126;
}

/// Returns x without its fraction: the power of two at or below |x|.
double powerBelow(double x) {
  constexpr std::uint64_t kExponent = 0x7FF0'0000'0000'0000;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & kExponent);
}

}  // namespace

double unitRoundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kFloat64:
      return 0x1p-53;
    case DType::kBFloat16:
      return 0x1p-8;
    case DType::kFloat16:
      return 0x1p-11;
    default:
      return 0;
  }
}

bool isNarrow(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

double halfOfSmallest(DType dtype) {
  return dtype == DType::kFloat16 ? 0x1p-25 : dtype == DType::kFloat64 ? 0x1p-1022 : 0x1p-126;
}

double storingSquare(std::span<const double> row, DType dtype) {
  const double half_unit = unitRoundoff(dtype), least = smallestNormal(dtype);
  double squares = 0;
  for (const double value : row) {
    const double off = half_unit * std::max(powerBelow(value), least);
    squares += off * off;
  }
  return squares / 3;
}

}  // namespace ringscope::traces
