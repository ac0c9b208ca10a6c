// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Half.h>

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

using __half = c10::Half;
inline float __half2float(__half x) {
  return static_cast<float>(x);
}
// NOLINTEND(readability-identifier-naming)
