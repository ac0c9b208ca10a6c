// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/sixteen_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ringscope::traces {
namespace {

bool isFloat(double value) {
  return std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value;
}

/// float16 has 11 significant bits, values up to 65,504, and a spacing of at least 2^-24.
bool isFloat16(double value) {
  if (!std::isfinite(value)) return true;
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(value, &exponent), 11);
  const double steps = std::ldexp(value, 24);
  return std::abs(value) <= 65'504 && mantissa == std::floor(mantissa) &&
         steps == std::floor(steps);
}

}  // namespace

bool isBFloat16(double value) {
  return isFloat(value) && (std::bit_cast<std::uint32_t>(static_cast<float>(value)) & 0xffff) == 0;
}

bool fitSixteenBits(std::span<const double> values) {
  return std::ranges::all_of(values, isBFloat16) || std::ranges::all_of(values, isFloat16);
}

}  // namespace ringscope::traces
