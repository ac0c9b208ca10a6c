// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

double halfToDouble(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const int fraction = half & 0x3FF;
  double value = exponent == 31  ? (fraction ? std::numeric_limits<double>::quiet_NaN()
                                             : std::numeric_limits<double>::infinity())
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(fraction + 1024, exponent - 25);
  return half & 0x8000 ? -value : value;
}

template <typename T>
T load(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double element(DType dtype, const Bytes& bytes, std::size_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return load<float>(bytes, i);
    case DType::kFloat64:
      return load<double>(bytes, i);
    case DType::kBFloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(bytes, i)) << 16);
    case DType::kFloat16:
      return halfToDouble(load<std::uint16_t>(bytes, i));
    case DType::kInt32:
      return load<std::int32_t>(bytes, i);
    case DType::kInt64:
      return static_cast<double>(load<std::int64_t>(bytes, i));
    case DType::kCount:
      break;
  }
  return 0;
}

}  // namespace

std::vector<double> decodeValues(const TensorRecord& tensor, const Bytes& bytes) {
  std::size_t count = 1;
  for (const auto extent : tensor.shape) {
    if (extent < 0 || (extent > 0 && count > kMaxChunkBytes / static_cast<std::size_t>(extent)))
      throw inputError("the tensor '" + tensor.tensor.text() + "' has an impossible shape");
    count *= static_cast<std::size_t>(extent);
  }
  if (bytes.size() != count * byteSize(tensor.dtype))
    throw inputError("the values of '" + tensor.tensor.text() + "' do not fit its shape");
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = element(tensor.dtype, bytes, i);
  return values;
}

}  // namespace ringscope::traces
