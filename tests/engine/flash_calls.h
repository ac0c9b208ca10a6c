// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "traces/plan/kernel_work.h"

namespace ringscope::test {

/// Adds a call row by row and tile by tile, as PyTorch's flash kernel for CPUs goes through it.
inline void addCall(traces::KernelWork& all, std::int64_t rows, std::int64_t keys, bool causal) {
  const std::int64_t part = rows >= 768 ? 256 : rows >= 192 ? 64 : 32;
  ++all.calls;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t seen = causal ? std::min(keys, (row / part + 1) * part) : keys;
    for (std::int64_t key = 0; key < seen; key += 512)
      all.pairs += std::min<std::int64_t>(512, keys - key);
  }
}

}  // namespace ringscope::test
