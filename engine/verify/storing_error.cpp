// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/storing_error.h"

#include <ATen/ATen.h>

#include <bit>
#include <cmath>

#include "engine/tensors/wide.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

double smallestNormal(at::ScalarType type) {
  return type == at::kHalf ? 0x1p-14 : type == at::kDouble ? 0x1p-1022 : 0x1p-126;
}

/// x without its fraction: the power of two at or below |x|.
double powerBelow(double x) {
  constexpr std::uint64_t kExponent = 0x7FF0'0000'0000'0000;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & kExponent);
}

}  // namespace

double halfOfSmallest(at::ScalarType type) {
  return type == at::kHalf ? 0x1p-25 : type == at::kDouble ? 0x1p-1022 : 0x1p-126;
}

at::Tensor storingSquares(const at::Tensor& exact, at::ScalarType type) {
  const Wide values(exact);
  at::Tensor squares = at::zeros(exact.sizes().slice(0, exact.dim() - 1), at::kDouble);
  auto* of_row = squares.data_ptr<double>();
  const std::int64_t width = exact.size(-1);
  const double half_unit = unitRoundoff(type), least = smallestNormal(type);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double off = half_unit * std::max(powerBelow(values[i]), least);
    of_row[i / width] += off * off / 3;
  }
  return squares;
}

}  // namespace ringscope::engine
