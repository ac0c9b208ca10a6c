// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Reports whether a type has 16 bits.
inline bool isNarrow(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

/// Reports whether bfloat16 has this number.
inline bool isBFloat16(double value) {
  const auto rounded = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return static_cast<double>(rounded) == value && (bits & 0xffff) == 0;
}

}  // namespace ringscope::traces
