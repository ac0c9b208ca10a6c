// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/fp8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringscope::traces {
namespace {

constexpr float kLargestE4m3 = 448;

/// Returns the divisor that maps a row's largest magnitude to the largest number of e4m3; 1 for a
/// row of zeros or with a NaN.
float scaleOf(std::span<const double> row) {
  float largest = 0;
  for (const double x : row) {
    if (std::isnan(x)) return 1;
    largest = std::max(largest, std::abs(static_cast<float>(x)));
  }
  return largest > 0 ? largest / kLargestE4m3 : 1;
}

/// Rounds to the nearest number with `bits` bits of significand and an exponent of at least
/// `least`; ties to even.
double rounded(double x, int bits, int least) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), least) - (bits - 1));
  return std::nearbyint(x / unit) * unit;
}

double storedIn(double x, DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return rounded(x, 8, -126);
    case DType::kFloat16:
      return rounded(x, 11, -14);
    default:
      return x;
  }
}

}  // namespace

void roundRowsToFp8(std::span<double> rows, std::size_t width, DType dtype) {
  for (std::size_t begin = 0; begin < rows.size(); begin += width) {
    const std::span<double> row = rows.subspan(begin, std::min(width, rows.size() - begin));
    // Divides in fp32, as the kernels do: a quotient in fp64 may lie on the other side of a tie.
    const float scale = scaleOf(row);
    for (double& x : row) {
      auto code = static_cast<float>(rounded(static_cast<float>(x) / scale, 4, -6));
      if (std::abs(code) > kLargestE4m3) code = std::numeric_limits<float>::quiet_NaN();
      x = storedIn(code * scale, dtype);
    }
  }
}

}  // namespace ringscope::traces
