// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/records.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "traces/format/core/hash.h"

namespace ringscope::traces {

std::size_t byteSize(DType dtype) {
  static constexpr std::array<std::size_t, static_cast<std::size_t>(DType::kCount)> kSizes = {
      4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<std::size_t>(dtype)];
}

std::uint64_t computeHash(HashAlgorithm algorithm, const void* data, std::size_t size) {
  if (algorithm == HashAlgorithm::kDotSum64) return dotSum64(data, size);
  return algorithm == HashAlgorithm::kGridSum64 ? gridSum64(data, size) : mixSum64(data, size);
}

namespace {

constexpr int kCodeOfOne = 127, kCodesAnOctave = 8, kBeyond = 255;

}  // namespace

std::uint8_t RowRatios::encode(double ratio) {
  if (ratio == 0) return 0;
  const double code = kCodeOfOne + std::round(kCodesAnOctave * std::log2(std::abs(ratio)));
  if (!(code < kBeyond)) return kBeyond;
  return static_cast<std::uint8_t>(std::max(1.0, code));
}

double RowRatios::decode(std::uint8_t code) {
  if (code == 0) return 0;
  if (code == kBeyond) return std::numeric_limits<double>::infinity();
  return std::exp2(static_cast<double>(code - kCodeOfOne) / kCodesAnOctave);
}

std::optional<double> RowRatios::ofRow(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row / std::max<std::int64_t>(1, rows_a_code));
  if (row < 0 || at >= codes.size()) return std::nullopt;
  return decode(codes[at]);
}

}  // namespace ringscope::traces
