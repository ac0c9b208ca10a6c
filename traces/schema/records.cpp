// SPDX-License-Identifier: Apache-2.0
#include "traces/schema/records.h"

#include <array>

namespace ringscope::traces {

const char* name(DType dtype) {
  static constexpr std::array<const char*, static_cast<std::size_t>(DType::kCount)> kNames = {
      "float32", "float64", "bfloat16", "float16", "int32", "int64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

std::size_t sizeOf(DType dtype) {
  static constexpr std::array<std::size_t, static_cast<std::size_t>(DType::kCount)> kSizes = {
      4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<std::size_t>(dtype)];
}

const char* name(MemoryCategory category) {
  static constexpr std::array<const char*, static_cast<std::size_t>(MemoryCategory::kCount)>
      kNames = {"weights", "gradients", "optimizer", "activations", "q",
                "kv",      "in_flight", "out_lse",   "other",       "verify"};
  return kNames[static_cast<std::size_t>(category)];
}

}  // namespace ringscope::traces
