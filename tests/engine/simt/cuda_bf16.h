// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/BFloat16.h>

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

using __nv_bfloat16 = c10::BFloat16;
inline float __bfloat162float(__nv_bfloat16 x) {
  return static_cast<float>(x);
}
// NOLINTEND(readability-identifier-naming)
